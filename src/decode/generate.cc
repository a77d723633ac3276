#include "decode/generate.h"

#include <algorithm>

#include "base/error.h"
#include "decode/text_stream.h"

namespace heed {
namespace {

// One request while it is worked on.
struct Row {
  size_t request = 0;
  std::vector<int32_t> ids;  // prompt and what follows
  size_t prompt = 0;
  size_t shown = 0;  // first of ids that is in the model's state
  TextStream stream;
};

class Generation {
 public:
  Generation(const LoadedLanguageModel& model, std::span<const GenerateRequest> requests,
             const GenerateOptions& options, const TextCallback& said)
      : model_(*model.model),
        tokenizer_(*model.tokenizers.target),
        requests_(requests),
        options_(options),
        said_(said),
        results_(requests.size()) {
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::vector<int32_t>& prompt = requests[i].prompt;
      check(!prompt.empty(),
            "[generate] prompt {} is empty, and the tokenizer has no END to start "
            "with",
            i + 1);
      rows_.push_back({i, prompt, prompt.size(), 0, TextStream(tokenizer_, options.stop)});
      rows_.back().stream.begin(prompt);
    }
  }

  std::vector<Generated> run() {
    for (int64_t said = 0; said < options_.max_tokens && !rows_.empty(); ++said) {
      const Tensor logits = next_logits();
      extend(logits.dtype() == DType::f32 ? logits : logits.to(DType::f32));
    }
    for (Row& row : rows_) {
      finish(row, GenerateEnd::length);
    }
    return std::move(results_);
  }

 private:
  // Logits after the last token of every row, [R,V].
  Tensor next_logits() {
    const bool full =
        model_.context() > 0 && std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
          return std::ssize(row.ids) - static_cast<int64_t>(row.shown) > model_.context();
        });
    if (state_ == nullptr || full) {
      return show_all();
    }
    std::vector<int32_t> last;
    last.reserve(rows_.size());
    for (const Row& row : rows_) {
      last.push_back(row.ids.back());
    }
    const auto rows = static_cast<int64_t>(last.size());
    return model_.step(Tensor::from_ints(last, {rows, 1}), *state_);
  }

  // Begins anew with the end of every row: all that fits at first, and half of the context once it
  // is full, so that this is rare.
  Tensor show_all() {
    const auto context = static_cast<size_t>(model_.context());
    std::vector<int64_t> lengths;
    for (Row& row : rows_) {
      const size_t size = row.ids.size() - row.shown;
      if (context > 0 && size > context) {
        row.shown = row.ids.size() - std::max<size_t>(1, state_ == nullptr ? context : context / 2);
      }
      lengths.push_back(static_cast<int64_t>(row.ids.size() - row.shown));
    }
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const auto rows = static_cast<int64_t>(rows_.size());
    std::vector<int32_t> tokens(static_cast<size_t>(rows * longest), 0);
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::copy(rows_[r].ids.begin() + static_cast<int64_t>(rows_[r].shown), rows_[r].ids.end(),
                tokens.begin() + static_cast<int64_t>(r) * longest);
    }
    state_ = model_.start();
    const bool equal = std::all_of(lengths.begin(), lengths.end(),
                                   [&](int64_t length) { return length == longest; });
    return model_.step(Tensor::from_ints(tokens, {rows, longest}), *state_,
                       equal ? std::span<const int64_t>() : std::span<const int64_t>(lengths));
  }

  // Draws a token for every row; rows that end leave.
  void extend(const Tensor& logits) {
    // Rounded-up vocabularies have logits of tokens that do not exist.
    const auto known = static_cast<size_t>(tokenizer_.size());
    const auto width = static_cast<size_t>(logits.dim(1));
    std::vector<int64_t> staying;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const std::span<const float> own = logits.span<float>().subspan(r * width, known);
      if (add_token(rows_[r], own)) {
        staying.push_back(static_cast<int64_t>(r));
      }
    }
    if (staying.size() == rows_.size()) {
      return;
    }
    model_.select(*state_, staying);
    std::vector<Row> left;
    for (const int64_t r : staying) {
      left.push_back(std::move(rows_[static_cast<size_t>(r)]));
    }
    rows_ = std::move(left);
  }

  // False if the row ends with it.
  bool add_token(Row& row, std::span<const float> logits) {
    const uint64_t number = row.ids.size() - row.prompt;
    const RandomStream random{options_.seed, requests_[row.request].sample};
    const int32_t id = draw(candidates(logits, row.ids, options_.sampling), random.uniform(number));
    if (id == tokenizer_.special().end && !options_.ignore_end) {
      finish(row, GenerateEnd::end_token);
      return false;
    }
    row.ids.push_back(id);
    tell(row, row.stream.push(id));
    if (row.stream.stopped()) {
      finish(row, GenerateEnd::stop_text);
      return false;
    }
    return true;
  }

  void tell(const Row& row, const std::string& text) {
    results_[row.request].text += text;
    if (said_ && !text.empty()) {
      said_(row.request, text);
    }
  }

  void finish(Row& row, GenerateEnd end) {
    tell(row, row.stream.finish());
    Generated& result = results_[row.request];
    result.ids.assign(row.ids.begin() + static_cast<int64_t>(row.prompt), row.ids.end());
    result.end = end;
    result.forgotten = static_cast<int64_t>(row.shown);
  }

  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  std::span<const GenerateRequest> requests_;
  const GenerateOptions& options_;
  const TextCallback& said_;
  std::vector<Generated> results_;
  std::vector<Row> rows_;
  std::unique_ptr<DecodeState> state_;
};

}  // namespace

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (ids.empty() && tokenizer.special().end >= 0) {
    ids.push_back(tokenizer.special().end);
  }
  return ids;
}

std::vector<Generated> generate(const LoadedLanguageModel& model,
                                std::span<const GenerateRequest> requests,
                                const GenerateOptions& options, const TextCallback& said) {
  check_sampling(options.sampling);
  return Generation(model, requests, options, said).run();
}

}  // namespace heed
