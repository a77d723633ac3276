// BERT's pre-training: masked words, and whether the second text follows the first (Devlin et al.
// 2018). The model predicts 15 % of the tokens: 80 % of those become [MASK], 10 % another token and
// 10 % stay as they are. Each epoch chooses other tokens.
#pragma once

#include "data/text/texts.h"
#include "tasks/setup/data_config.h"
#include "tasks/setup/text_setup.h"
#include "train/task.h"

namespace heed {

struct MaskedDataConfig : BatchConfig {
  std::vector<std::string> text, table;
  std::string valid_text;
  std::string text_column = "1", pair_column;
  bool next_sentence = false;
  double valid_share = 0.0;
  int64_t max_length = 128;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("text", text, "files of plain text", {.path = true});
    v("table", table, "TSV files of texts, instead of text or in addition to it", {.path = true});
    v("text_column", text_column, "column of the text, by name or by number from 1");
    v("pair_column", pair_column, "column of the second text of a pair; empty: none");
    v("valid_text", valid_text, "held-out text for validation", {.path = true});
    v("valid_share", valid_share,
      "without valid_text: share of the lines to hold out, from the end",
      {.least = 0, .most = 0.9});
    v("next_sentence", next_sentence, "also learn whether the second text follows the first");
    v("max_length", max_length, "truncate texts to this many tokens", {.least = 1, .most = 100000});
    BatchConfig::fields(v);
  }
};

struct MaskedConfig {
  MaskedDataConfig data;
  TextConfig text;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("text", text, "the tokenizer");
  }
};

class MaskedTask : public TaskWith<MaskedConfig> {
 public:
  MaskedTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override;
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& /*folder*/) const override { return ""; }

 private:
  // What is hidden in a batch of texts.
  struct MaskedBatch : TaskBatch {
    HostTexts texts;               // with masks
    std::vector<int32_t> places;   // b * T + t
    std::vector<int32_t> words;    // that stood there
    std::vector<int32_t> follows;  // [B] 0: the second text follows; 1: it does not
  };
  // A text, or two, and whether they belong together.
  struct Sentences {
    std::vector<EncodedText> texts;
    std::vector<int32_t> follows;
  };

  // The lines of valid_text, or the last ones of those to learn from.
  std::vector<std::vector<int32_t>> take_held_out();
  Sentences make_texts(const std::vector<std::vector<int32_t>>& lines) const;
  std::unique_ptr<MaskedBatch> mask(HostTexts texts, const std::vector<int32_t>& follows,
                                    uint64_t stream) const;
  Tensor word_loss(const MaskedBatch& batch, Tensor* hidden) const;

  TextEncoder* encoder_ = nullptr;  // any_
  MaskedModel* heads_ = nullptr;    // any_
  int32_t mask_ = 0;                // [MASK]
  int64_t longest_ = 0;
  std::vector<std::vector<int32_t>> lines_;  // to learn from
  std::vector<int32_t> follows_;             // of each text
  std::optional<TextEpochs> epochs_;
  std::vector<std::unique_ptr<MaskedBatch>> held_out_;
  DataState state_;
};

}  // namespace heed
