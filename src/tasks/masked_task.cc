#include "tasks/masked_task.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "data/text/examples.h"
#include "data/text/lines.h"
#include "data/text/table.h"
#include "decode/text/embed.h"
#include "models/registry.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

constexpr float kHidden = 0.15F;  // share of the tokens that are asked for

std::vector<std::string> lines_of(const MaskedDataConfig& data) {
  std::vector<std::string> lines;
  for (const std::string& file : data.text) {
    const std::vector<std::string> more = read_lines(file);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  if (!data.table.empty()) {
    const LabelledTexts table =
        read_table(data.table, {.text = data.text_column, .pair = data.pair_column, .label = ""});
    for (const LabelledText& row : table.rows) {
      lines.push_back(row.text);
    }
  }
  return lines;
}

EncoderHeads heads_of(const MaskedDataConfig& data) {
  return {.masked = true,
          .next = data.next_sentence,
          .pooler = data.next_sentence ? std::optional(true) : std::nullopt};
}

std::vector<std::vector<int32_t>> encode_lines(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& lines) {
  std::vector<std::vector<int32_t>> encoded;
  for (const std::string& line : lines) {
    if (std::vector<int32_t> ids = tokenizer.encode(line); !ids.empty()) {
      encoded.push_back(std::move(ids));
    }
  }
  return encoded;
}

std::vector<std::string> held_out_lines(const MaskedDataConfig& data,
                                        const std::vector<std::string>& lines) {
  if (!data.valid_text.empty()) {
    return read_lines(data.valid_text);
  }
  const auto held = static_cast<int64_t>(static_cast<double>(lines.size()) * data.valid_share);
  return held == 0 ? lines : std::vector<std::string>(lines.end() - held, lines.end());
}

}  // namespace

void MaskedTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  check(!own.data.text.empty() || !own.data.table.empty(),
        "[{}] task {} names no training data: set data.text", where, recipe.task);
}

void MaskedTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<TextEncoder>(with_heads(planned_model(recipe, own.text), heads_of(own.data)));
}

MaskedTask::MaskedTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  std::vector<std::string> lines = lines_of(own_.data);
  tokenizers_ = prepare_text_tokenizer({recipe, own_.text, setup}, [&] { return lines; });
  const std::optional<int32_t> mask = tokenizers_.source->find("[MASK]");
  check(mask.has_value(),
        "[masked] the tokenizer has no [MASK]: take text.kind = \"wordpiece\", or a BERT folder");
  mask_ = *mask;
  config_.model = with_heads(model_to_train(recipe_, tokenizers_), heads_of(own_.data));
  any_ = make_model(setup.scope, config_.model);
  encoder_ = &model_as<TextEncoder>(*any_, config_.model);
  heads_ = dynamic_cast<MaskedModel*>(any_.get());
  longest_ = std::min(encoder_->longest(), own_.data.max_length);
  lines_ = encode_lines(*tokenizers_.source, lines);
  check(lines_.size() > 1, "[masked] there are {} lines to learn from, expected more",
        lines_.size());
  config_.examples = pick_masked(held_out_lines(own_.data, lines), "[MASK]");
}

bool MaskedTask::fresh(std::string_view parameter) const {
  return parameter.starts_with("masked.") || parameter.starts_with("next.") ||
         parameter.starts_with("pooler.");
}

// Each line; with next_sentence each line and the one after it, or in half of the cases another.
MaskedTask::Sentences MaskedTask::make_texts(const std::vector<std::vector<int32_t>>& lines) const {
  const RandomStream random{recipe_.train.seed, stream_of("second texts")};
  Sentences made;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::optional<std::vector<int32_t>> second;
    int32_t follows = 0;
    if (own_.data.next_sentence) {
      // Nothing follows the last line, and the line that follows is no other one.
      follows = i + 1 < lines.size() && random.uniform(2 * i) < 0.5F ? 0 : 1;
      const size_t other = i + 2 + random.bits(2 * i + 1) % std::max<size_t>(1, lines.size() - 1);
      second = lines[(follows == 0 ? i + 1 : other) % lines.size()];
    }
    made.texts.push_back(join_texts(*tokenizers_.source, lines[i], second, longest_));
    made.follows.push_back(follows);
  }
  return made;
}

std::unique_ptr<MaskedTask::MaskedBatch> MaskedTask::mask(HostTexts texts,
                                                          const std::vector<int32_t>& follows,
                                                          uint64_t stream) const {
  const SpecialIds& special = tokenizers_.source->special();
  const auto vocabulary = static_cast<uint32_t>(tokenizers_.source->size());
  const RandomStream random{recipe_.train.seed, stream};
  auto batch = std::make_unique<MaskedBatch>();
  for (int64_t row = 0; row < texts.rows; ++row) {
    for (int64_t t = 0; t < texts.lengths[static_cast<size_t>(row)]; ++t) {
      const auto place = static_cast<size_t>(row * texts.width + t);
      int32_t& token = texts.tokens[place];
      const Philox4 bits = random.block(place);
      const auto share = [&](int i) { return static_cast<float>(bits[i]) * 0x1p-32F; };
      if (token == special.start || token == special.end || share(0) >= kHidden) {
        continue;
      }
      batch->places.push_back(static_cast<int32_t>(place));
      batch->words.push_back(token);
      token = share(1) < 0.8F   ? mask_
              : share(1) < 0.9F ? static_cast<int32_t>(bits[2] % vocabulary)
                                : token;
    }
    batch->follows.push_back(follows[static_cast<size_t>(texts.indices[static_cast<size_t>(row)])]);
  }
  batch->tokens = texts.count;
  batch->targets = std::max<int64_t>(1, std::ssize(batch->places));
  batch->texts = std::move(texts);
  return batch;
}

std::vector<std::vector<int32_t>> MaskedTask::take_held_out() {
  if (const std::string& file = own_.data.valid_text; !file.empty()) {
    std::vector<std::vector<int32_t>> lines = encode_lines(*tokenizers_.source, read_lines(file));
    check(!lines.empty(), "[masked] {} has no text", file);
    return lines;
  }
  const auto held = static_cast<size_t>(static_cast<double>(lines_.size()) * own_.data.valid_share);
  std::vector<std::vector<int32_t>> last(lines_.end() - static_cast<int64_t>(held), lines_.end());
  lines_.resize(lines_.size() - held);
  return last;
}

void MaskedTask::begin(const DataState& state) {
  const Sentences valid = make_texts(take_held_out());
  const int32_t pad = tokenizers_.source->special().pad;
  for (HostTexts& texts : batch_texts(valid.texts, own_.data.batch_tokens, pad)) {
    const uint64_t stream = stream_of(fmt::format("valid mask {}", held_out_.size()));
    held_out_.push_back(mask(std::move(texts), valid.follows, stream));
  }
  Sentences sentences = make_texts(lines_);
  follows_ = std::move(sentences.follows);
  epochs_.emplace(
      std::move(sentences.texts),
      TextEpochs::Options{
          .batch_tokens = own_.data.batch_tokens, .seed = recipe_.train.seed, .pad = pad});
  state_ = state;
}

std::unique_ptr<TaskBatch> MaskedTask::next() {
  const uint64_t stream = stream_of(fmt::format("mask {} {}", state_.epoch, state_.batch));
  auto batch = mask(epochs_->next(state_), follows_, stream);
  batch->after = state_;
  return batch;
}

Tensor MaskedTask::word_loss(const MaskedBatch& batch, Tensor* hidden) const {
  const TextBatch tensors = to_tensors(batch.texts);
  *hidden = encoder_->hidden(tensors);  // [B,T,C]
  // A batch without any mask looks at its first token and ignores it: the sum over nothing is 0,
  // whereas the mean is not a number.
  std::vector<int32_t> places = batch.places;
  std::vector<int32_t> words = batch.words;
  CrossEntropyOptions options{.ignore = kIgnore};
  if (places.empty()) {
    places.push_back(0);
    words.push_back(kIgnore);
    options.reduction = Reduction::sum;
  }
  const auto count = static_cast<int64_t>(places.size());
  return cross_entropy(heads_->words(*hidden, Tensor::from_ints(places, {count})),
                       Tensor::from_ints(words, {count}), options);
}

Tensor MaskedTask::loss(const TaskBatch& base) const {
  const auto& batch = static_cast<const MaskedBatch&>(base);
  Tensor hidden;
  Tensor words = word_loss(batch, &hidden);
  if (!own_.data.next_sentence) {
    return words;
  }
  const TextBatch tensors = to_tensors(batch.texts);
  const Tensor follows = cross_entropy(heads_->follows(hidden, tensors),
                                       Tensor::from_ints(batch.follows, {batch.texts.rows}));
  return add(words, follows);
}

Tensor MaskedTask::full_batch_loss() const {
  const int64_t length = std::min<int64_t>(longest_, 64);
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / length);
  HostTexts texts;
  texts.rows = rows;
  texts.width = length;
  texts.tokens.assign(static_cast<size_t>(rows * length), 0);
  texts.types = texts.tokens;
  texts.lengths.assign(static_cast<size_t>(rows), static_cast<int32_t>(length));
  texts.indices.assign(static_cast<size_t>(rows), 0);
  return loss(*mask(std::move(texts), {0}, 0));
}

Score MaskedTask::validate(int64_t /*step*/) const {
  double total = 0.0;
  double count = 0.0;
  for (const std::unique_ptr<MaskedBatch>& batch : held_out_) {
    Tensor hidden;
    const auto words = static_cast<double>(batch->places.size());
    total += static_cast<double>(word_loss(*batch, &hidden).item()) * words;
    count += words;
  }
  Score score{.loss = total / std::max(count, 1.0)};
  return score;
}

}  // namespace heed
