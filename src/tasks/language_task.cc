#include "tasks/language_task.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "base/error.h"
#include "data/text/examples.h"
#include "data/text/lines.h"
#include "decode/text/perplexity.h"
#include "models/loss_model.h"
#include "models/registry.h"
#include "ops/shape/cast.h"
#include "train/loss.h"

namespace heed {

void LanguageTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  check(!own.data.text.empty(), "[{}] task {} names no training data: set data.text", where,
        recipe.task);
  own.train.check_recipe(where);
}

void LanguageTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<LanguageModel>(planned_model(recipe, own.text));
}

LanguageTask::LanguageTask(const Recipe& recipe, const TaskSetup& setup, LanguageConfig own)
    : Task(recipe), own_(std::move(own)) {
  tokenizers_ = prepare_text_tokenizer({recipe, own_.text, setup}, [this] { return sample(); });
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<LanguageModel>(*any_, config_.model);
  segments_ = dynamic_cast<const SegmentModel*>(model_);
  length_ = model_->context() > 0 ? model_->context() : own_.data.max_length;
}

// Lines that the tokenizer is trained on.
std::vector<std::string> LanguageTask::sample() const {
  std::vector<std::string> lines;
  for (const std::string& file : own_.data.text) {
    LineReader reader(file);
    for (std::string line; std::ssize(lines) < own_.text.sample && reader.next(line);) {
      lines.push_back(line + (own_.data.line_end ? "" : "\n"));
    }
  }
  return lines;
}

TextSource LanguageTask::source(std::vector<std::string> files) const {
  return {
      .files = std::move(files), .tokenizer = tokenizers_.target, .line_end = own_.data.line_end};
}

// Lines near the beginning of the tokens, but for the first, which may be the end of one.
std::vector<std::string> LanguageTask::lines_in(std::span<const int32_t> tokens) const {
  constexpr size_t kEnough = 20000;
  const int32_t end = tokenizers_.target->special().end;
  std::string text;
  std::vector<int32_t> line;
  for (const int32_t token : tokens.first(std::min(kEnough, tokens.size()))) {
    if (token != end) {
      line.push_back(token);
      continue;
    }
    text += tokenizers_.target->decode(line) + "\n";
    line.clear();
  }
  text += tokenizers_.target->decode(line);
  std::vector<std::string> lines;
  std::istringstream reader(text);
  for (std::string one; std::getline(reader, one);) {
    lines.push_back(one);
  }
  if (lines.size() > 1) {
    lines.erase(lines.begin());
  }
  return lines;
}

int64_t LanguageTask::rows() const {
  return std::max<int64_t>(1, own_.data.batch_tokens / length_);
}

void LanguageTask::begin(const DataState& state) {
  std::vector<int32_t> tokens = read_tokens(source(own_.data.text));
  if (!own_.data.valid_text.empty()) {
    held_out_ = read_tokens(source({own_.data.valid_text}));
  } else {
    const auto kept =
        static_cast<size_t>(static_cast<double>(tokens.size()) * (1.0 - own_.data.valid_share));
    held_out_.assign(tokens.begin() + static_cast<int64_t>(kept), tokens.end());
    tokens.resize(kept);
  }
  const bool wanted = !own_.data.valid_text.empty() || own_.data.valid_share > 0.0;
  check(!wanted || held_out_.size() > 1,
        "[text] {} tokens are held out for validation, expected at least 2", held_out_.size());
  config_.examples = pick_prompts(lines_in(held_out_.empty() ? tokens : held_out_));
  const WindowOptions options{
      .length = length_, .rows = rows(), .targets = future(), .seed = recipe_.train.seed};
  if (segments_ != nullptr) {
    streams_.emplace(std::move(tokens), options);
    const Bounds own = shared_rows(streams_->rows());
    check(memory_.empty() || memory_.front().dim(0) == own[1] - own[0],
          "[text] the run continues {} streams, but there are {}; have the files changed?",
          memory_.empty() ? 0 : memory_.front().dim(0), own[1] - own[0]);
  } else {
    windows_.emplace(std::move(tokens), options);
  }
  state_ = state;
}

std::unique_ptr<TaskBatch> LanguageTask::next() {
  auto batch = std::make_unique<WindowBatch>();
  batch->window = streams_ ? streams_->at(state_) : windows_->at(state_);
  batch->begins = TokenStreams::begins(state_);
  batch->tokens = std::ssize(batch->window.input);
  if (streams_) {  // whose rows processes share
    const Bounds own = shared_rows(batch->tokens / length_);
    const auto cut = [&](std::vector<int32_t>& values) {
      const int64_t width = std::ssize(values) / (batch->tokens / length_);
      values = {values.begin() + own[0] * width, values.begin() + own[1] * width};
    };
    cut(batch->window.input);
    cut(batch->window.target);
  }
  batch->targets = std::ssize(batch->window.input) / length_ * counted();
  batch->after = batch->window.after;
  state_ = batch->after;
  return batch;
}

// A step that has no end leaves the memory as it was.
void LanguageTask::begin_step(int64_t /*complete*/) { current_ = memory_; }
void LanguageTask::end_step() { memory_ = current_; }

// The rows [first, last) of this process.
Bounds LanguageTask::shared_rows(int64_t rows) const {
  const Group alone;
  const Group& group = sharing_ == nullptr ? alone : *sharing_;
  const Bounds bounds = equal_bounds(rows, group.size());
  const auto own = static_cast<size_t>(group.index());
  return {bounds[own], bounds[own + 1]};
}

// The rows of all processes, which lie one after the other.
std::vector<StateTensor> LanguageTask::carried() const {
  std::vector<StateTensor> carried;
  for (size_t i = 0; i < memory_.size() && memory_[i].defined(); ++i) {
    Tensor memory = cast(memory_[i], DType::f32);
    if (sharing_ != nullptr && !sharing_->alone()) {
      const int64_t row = memory.size() / memory.dim(0);
      Bounds bounds = equal_bounds(streams_->rows(), sharing_->size());
      const Tensor all = Tensor::empty({bounds.back(), row});
      const Tensor own = all.rows(shared_rows(bounds.back())[0], shared_rows(bounds.back())[1]);
      std::copy_n(memory.data<float>(), memory.size(), own.data<float>());
      std::for_each(bounds.begin(), bounds.end(), [&](int64_t& bound) { bound *= row; });
      sharing_->all_gather(all.span<float>(), bounds);
      memory = all.reshape({all.dim(0), memory.dim(1), row / memory.dim(1)});
    }
    carried.push_back({fmt::format("memory.{:04}", i), memory});
  }
  return carried;
}

void LanguageTask::restore(const std::vector<StateTensor>& carried) {
  memory_.clear();
  for (const StateTensor& state : carried) {  // in the order of their names
    const Bounds own = shared_rows(state.tensor.dim(0));
    memory_.push_back(cast(state.tensor.rows(own[0], own[1]),
                           recipe_.train.precision == "bf16" ? DType::bf16 : DType::f32));
  }
}

Tensor LanguageTask::segment_loss(const WindowBatch& batch, SegmentModel::Memory& memory) const {
  const Shape shape{std::ssize(batch.window.input) / length_, length_};
  if (batch.begins) {
    memory.clear();
  }
  const Tensor tokens = Tensor::from_ints(batch.window.input, shape);
  const Tensor targets = Tensor::from_ints(batch.window.target, shape);
  return plain_loss() ? segments_->segment_loss(tokens, targets, memory)
                      : sequence_loss([&] { return segments_->segment(tokens, memory); }, targets,
                                      own_.train.config());
}

Tensor LanguageTask::loss(const TaskBatch& batch) const {
  if (segments_ != nullptr) {
    return segment_loss(static_cast<const WindowBatch&>(batch), current_);
  }
  const TokenWindows::Window& window = static_cast<const WindowBatch&>(batch).window;
  const int64_t rows = std::ssize(window.input) / length_;
  return window_loss(Tensor::from_ints(window.input, {rows, length_}),
                     Tensor::from_ints(window.target, {rows, length_ + future() - 1}));
}

// Whether the model's own loss is what the recipe wants.
bool LanguageTask::plain_loss() const {
  const LossConfig loss = own_.train.config();
  return loss.kind == "cross_entropy" && loss.label_smoothing == 0.0F;
}

Tensor LanguageTask::window_loss(const Tensor& tokens, const Tensor& targets) const {
  const auto* own = dynamic_cast<const LossModel*>(model_);
  if (own != nullptr && plain_loss()) {
    return own->loss(tokens, targets);
  }
  return sequence_loss([&] { return model_->logits(tokens); }, targets, own_.train.config());
}

Tensor LanguageTask::full_batch_loss() const {
  const Tensor ids = Tensor::zeros({rows(), length_}, DType::i32);
  if (segments_ != nullptr) {
    const std::vector<int32_t> zeros(static_cast<size_t>(ids.size()));
    WindowBatch batch;
    batch.window = {.input = zeros, .target = zeros, .after = {}};
    SegmentModel::Memory memory;
    for (int64_t seen = 0; seen < segments_->memory(); seen += length_) {
      segments_->segment(ids, memory);
    }
    return segment_loss(batch, memory);
  }
  return window_loss(ids, Tensor::zeros({rows(), length_ + future() - 1}, DType::i32));
}

Score LanguageTask::validate(int64_t /*step*/) const {
  const Perplexity found = measure_perplexity(
      *model_, held_out_,
      {.length = segments_ != nullptr ? 0 : length_, .batch_tokens = own_.data.batch_tokens});
  Score score{.loss = found.loss()};
  if (tokenizers_.target->kind() == "char") {
    score.measures.push_back({"bits_per_character", found.loss() / std::numbers::ln2});
  }
  return score;
}

std::string LanguageTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_text.empty()) {
    return "";
  }
  const auto loaded = load_as<LanguageModel>(folder, DType::f32);
  const Perplexity found = measure_perplexity(
      *loaded->model, read_tokens(source({own_.data.test_text})),
      {.length = segments_ != nullptr ? 0 : length_, .batch_tokens = own_.data.batch_tokens});
  return fmt::format("test {}: loss {:.4f} perplexity {:.2f} over {} tokens", own_.data.test_text,
                     found.loss(), std::exp(found.loss()), found.tokens);
}

}  // namespace heed
