// Learning to say what comes next: one long text, windows of it, a language model. One that
// remembers segments is shown them in order.
#pragma once

#include "data/text/token_streams.h"
#include "data/text/token_windows.h"
#include "models/segment_model.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
#include "train/loss.h"
#include "train/task.h"

namespace heed {

struct PlainTextConfig : BatchConfig {
  std::vector<std::string> text;
  std::string valid_text, test_text;
  double valid_share = 0.0;
  bool line_end = false;
  int64_t max_length = 128;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("text", text, "files of plain text", {.path = true});
    v("valid_text", valid_text, "held-out text for validation", {.path = true});
    v("test_text", test_text, "held-out text for the final test", {.path = true});
    v("valid_share", valid_share, "without valid_text: share of the text to hold out, from the end",
      {.least = 0, .most = 0.9});
    v("line_end", line_end, "an END token behind every line of text instead of a line end");
    v("max_length", max_length, "training window in tokens, for models with unlimited context",
      {.least = 1, .most = 100000});
    BatchConfig::fields(v);
  }
};

struct LanguageConfig {
  PlainTextConfig data;
  TextConfig text;
  SequenceLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
    v("train", train, "the loss");
  }
};

class LanguageTask : public Task {
 public:
  using Config = LanguageConfig;
  LanguageTask(const Recipe& recipe, const TaskSetup& setup)
      : LanguageTask(recipe, setup, own_config<Config>(recipe)) {}
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override {
    return streams_ ? streams_->epoch_batches() : windows_->epoch_batches();
  }
  void share(const Group& batch) override { sharing_ = &batch; }
  bool shares_rows() const override { return segments_ != nullptr; }
  void begin_step(int64_t complete) override;
  void end_step() override;
  std::vector<StateTensor> carried() const override;
  void restore(const std::vector<StateTensor>& carried) override;
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 protected:
  LanguageTask(const Recipe& recipe, const TaskSetup& setup, LanguageConfig own);

  // tokens i32 [B,T] and what follows each: [B, T + future() - 1].
  virtual Tensor window_loss(const Tensor& tokens, const Tensor& targets) const;
  // Tokens that are predicted at each position, the next one first.
  virtual int64_t future() const { return 1; }
  // Positions of a row that the loss counts.
  virtual int64_t counted() const { return length_; }
  LanguageModel& model() const { return *model_; }
  const LanguageConfig& own() const { return own_; }
  std::span<const int32_t> held_out() const { return held_out_; }
  int64_t length() const { return length_; }  // of a window

 private:
  struct WindowBatch : TaskBatch {
    TokenWindows::Window window;
    bool begins = false;  // streams, instead of continuing them
  };

  int64_t rows() const;
  Bounds shared_rows(int64_t rows) const;
  bool plain_loss() const;
  Tensor segment_loss(const WindowBatch& batch, SegmentModel::Memory& memory) const;
  std::vector<std::string> sample() const;
  TextSource source(std::vector<std::string> files) const;
  std::vector<std::string> lines_in(std::span<const int32_t> tokens) const;

  LanguageConfig own_;
  LanguageModel* model_ = nullptr;  // any_
  int64_t length_ = 0;
  const SegmentModel* segments_ = nullptr;  // model_, if it remembers segments
  std::optional<TokenWindows> windows_;
  const Group* sharing_ = nullptr;        // processes that share the streams
  std::optional<TokenStreams> streams_;   // in their place, for a model that remembers
  SegmentModel::Memory memory_;           // after the last complete step
  mutable SegmentModel::Memory current_;  // and after the last batch of this one
  std::vector<int32_t> held_out_;
  DataState state_;
};

}  // namespace heed
