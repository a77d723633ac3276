#include "decode/text/perplexity.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "models/segment_model.h"
#include "ops/loss/cross_entropy.h"

namespace heed {
namespace {

// A batch of windows of the same length.
struct Windows {
  std::vector<int32_t> input;
  std::vector<int32_t> target;  // kIgnore where another window counts it
  int64_t rows = 0;
};

void add_window(Windows& windows, std::span<const int32_t> tokens, int64_t begin, int64_t length,
                int64_t counted_from) {
  for (int64_t i = begin; i < begin + length; ++i) {
    windows.input.push_back(tokens[static_cast<size_t>(i)]);
    windows.target.push_back(i >= counted_from ? tokens[static_cast<size_t>(i + 1)] : kIgnore);
  }
  ++windows.rows;
}

// Batches, of which every process measures those whose turn it is.
class WindowMeter {
 public:
  WindowMeter(const LanguageModel& model, const PerplexityOptions& options)
      : model_(model), options_(options) {}

  // Empties the batch.
  void measure(Windows& windows, int64_t length) {
    if (windows.rows > 0 && batch_++ % options_.turns == options_.turn) {
      const Shape shape{windows.rows, length};
      found_.nats += cross_entropy(model_.logits(Tensor::from_ints(windows.input, shape)),
                                   Tensor::from_ints(windows.target, shape),
                                   {.ignore = kIgnore, .reduction = Reduction::sum})
                         .item();
      found_.tokens += std::ssize(windows.target) -
                       std::count(windows.target.begin(), windows.target.end(), kIgnore);
    }
    windows = {};
  }
  const Perplexity& found() const { return found_; }

 private:
  const LanguageModel& model_;
  const PerplexityOptions& options_;
  Perplexity found_;
  int64_t batch_ = 0;
};

// A text that a model reads in one go, remembering what came before.
Perplexity measure_in_order(const SegmentModel& segments, std::span<const int32_t> tokens,
                            const PerplexityOptions& options) {
  check(options.turns == 1,
        "[eval] a model that remembers segments reads a text from its beginning to its end, which "
        "{} processes cannot share: start one alone, or give --length to measure windows",
        options.turns);
  constexpr int64_t kSegment = 256;
  const int64_t inputs = std::ssize(tokens) - 1;  // that have a next
  const auto state =
      segments.start_with(options.memory < 0 ? segments.decoding_memory() : options.memory);
  Perplexity found;
  for (int64_t begin = 0; begin < inputs; begin += kSegment) {
    const int64_t length = std::min(kSegment, inputs - begin);
    const auto piece = [&](int64_t first) {
      return Tensor::from_ints(
          tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(length)), {1, length});
    };
    const Tensor logits = segments.extend(piece(begin), *state);  // [1,T,V]
    found.nats += cross_entropy(logits, piece(begin + 1), {.reduction = Reduction::sum}).item();
    found.tokens += length;
    if (options.progress) {
      options.progress(static_cast<double>(found.tokens) / static_cast<double>(inputs));
    }
  }
  return found;
}

}  // namespace

Perplexity measure_perplexity(const LanguageModel& model, std::span<const int32_t> tokens,
                              const PerplexityOptions& options) {
  const auto* segments = dynamic_cast<const SegmentModel*>(&model);
  check(options.memory < 0 || (segments != nullptr && options.length == 0),
        "[eval] a memory of {} is for models that remember segments, without windows",
        options.memory);
  if (segments != nullptr && options.length == 0) {
    return measure_in_order(*segments, tokens, options);
  }
  constexpr int64_t kAnyContext = 1024;
  const int64_t most =
      model.context() > 0 ? model.context() : std::max(options.length, kAnyContext);
  const int64_t length = options.length > 0 ? std::min(options.length, most) : most;
  const int64_t stride = options.stride > 0 ? options.stride : length;
  check(stride <= length, "[eval] a stride of {} skips tokens, expected at most {}", stride,
        length);
  const int64_t inputs = std::ssize(tokens) - 1;  // that have a next
  const int64_t rows = std::max<int64_t>(1, options.batch_tokens / length);
  WindowMeter meter(model, options);
  Windows windows;
  int64_t counted = 0;
  int64_t begin = 0;
  for (; begin + length <= inputs; begin += stride) {
    add_window(windows, tokens, begin, length, counted);
    counted = begin + length;
    if (windows.rows == rows) {
      meter.measure(windows, length);
      if (options.progress) {
        options.progress(static_cast<double>(counted) / static_cast<double>(inputs));
      }
    }
  }
  meter.measure(windows, length);
  if (counted < inputs) {  // the end, with as much before it as fits
    const int64_t from = stride < length ? std::max<int64_t>(0, inputs - length) : begin;
    add_window(windows, tokens, from, inputs - from, counted);
    meter.measure(windows, inputs - from);
  }
  return meter.found();
}

}  // namespace heed
