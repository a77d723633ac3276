#include "decode/generate.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "decode/text_stream.h"

namespace heed {
namespace {

// One request while it is worked on.
struct Row {
  size_t request = 0;
  std::vector<int32_t> ids;  // prompt and what follows
  size_t prompt = 0;
  int64_t shown = 0;  // first of ids that is in the model's state
  TextStream stream;
};

class Generation {
 public:
  Generation(const LoadedLanguageModel& model, std::span<const GenerateRequest> requests,
             const GenerateOptions& options, const GenerateCallbacks& callbacks)
      : model_(*model.model),
        tokenizer_(*model.tokenizers.target),
        requests_(requests),
        options_(options),
        callbacks_(callbacks),
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
      extend(next_logits());
    }
    for (Row& row : rows_) {
      finish(row, GenerateEnd::length);
    }
    return std::move(results_);
  }

 private:
  bool full(const Row& row) const {
    return model_.context() > 0 && std::ssize(row.ids) - row.shown > model_.context();
  }

  // Logits after the last token of every row. Rows that the context has become too small for begin
  // anew behind the others, which go on as they would alone.
  std::vector<float> next_logits() {
    std::vector<float> logits;
    if (state_ == nullptr) {
      state_ = model_.start();
      add(logits, show(*state_, rows_, model_.context()));
      return logits;
    }
    std::vector<int64_t> staying;
    std::vector<int64_t> beginning;
    for (int64_t r = 0; r < std::ssize(rows_); ++r) {
      (full(rows_[static_cast<size_t>(r)]) ? beginning : staying).push_back(r);
    }
    std::vector<Row> anew = take(beginning);
    if (!anew.empty()) {
      keep(staying);
    }
    if (!rows_.empty()) {
      std::vector<int32_t> last;
      last.reserve(rows_.size());
      for (const Row& row : rows_) {
        last.push_back(row.ids.back());
      }
      add(logits, model_.step(Tensor::from_ints(last, {std::ssize(last), 1}), *state_));
    }
    if (!anew.empty()) {
      // With half of the context, so that this is rare.
      const std::unique_ptr<DecodeState> fresh = model_.start();
      add(logits, show(*fresh, anew, std::max<int64_t>(1, model_.context() / 2)));
      model_.join(*state_, *fresh);
      std::move(anew.begin(), anew.end(), std::back_inserter(rows_));
    }
    return logits;
  }

  // Shows rows to a state that is still empty; of those that do not fit, the last `most` tokens.
  Tensor show(DecodeState& state, std::vector<Row>& rows, int64_t most) const {
    std::vector<int64_t> lengths;
    lengths.reserve(rows.size());
    for (Row& row : rows) {
      row.shown = full(row) ? std::ssize(row.ids) - most : row.shown;
      lengths.push_back(std::ssize(row.ids) - row.shown);
    }
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int32_t> tokens(rows.size() * static_cast<size_t>(longest), 0);
    for (size_t r = 0; r < rows.size(); ++r) {
      std::copy(rows[r].ids.begin() + rows[r].shown, rows[r].ids.end(),
                tokens.begin() + static_cast<int64_t>(r) * longest);
    }
    const bool equal = std::all_of(lengths.begin(), lengths.end(),
                                   [&](int64_t length) { return length == longest; });
    return model_.step(Tensor::from_ints(tokens, {std::ssize(rows), longest}), state,
                       equal ? std::span<const int64_t>() : std::span<const int64_t>(lengths));
  }

  static void add(std::vector<float>& all, const Tensor& logits) {
    const Tensor wide = logits.to(DType::f32);
    all.insert(all.end(), wide.span<float>().begin(), wide.span<float>().end());
  }

  std::vector<Row> take(const std::vector<int64_t>& which) {
    std::vector<Row> taken;
    taken.reserve(which.size());
    for (const int64_t r : which) {
      taken.push_back(std::move(rows_[static_cast<size_t>(r)]));
    }
    return taken;
  }

  // Only the given rows, here and in the model's state.
  void keep(const std::vector<int64_t>& which) {
    model_.select(*state_, which);
    rows_ = take(which);
  }

  // Draws a token for every row; rows that end leave.
  void extend(std::vector<float> logits) {
    // Rounded-up vocabularies have logits of tokens that do not exist.
    const auto known = static_cast<size_t>(tokenizer_.size());
    const size_t width = logits.size() / rows_.size();
    std::vector<int64_t> staying;
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (add_token(rows_[r], std::span(logits).subspan(r * width, known))) {
        staying.push_back(static_cast<int64_t>(r));
      }
    }
    if (staying.size() < rows_.size()) {
      keep(staying);
    }
  }

  // False if the row ends with it.
  bool add_token(Row& row, std::span<float> logits) {
    for (const int32_t id : options_.forbidden) {
      logits[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
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
    if (callbacks_.token && !callbacks_.token(row.request, id)) {
      finish(row, GenerateEnd::enough);
      return false;
    }
    return true;
  }

  void tell(const Row& row, const std::string& text) {
    results_[row.request].text += text;
    if (callbacks_.text && !text.empty()) {
      callbacks_.text(row.request, text);
    }
  }

  void finish(Row& row, GenerateEnd end) {
    tell(row, row.stream.finish());
    Generated& result = results_[row.request];
    result.ids.assign(row.ids.begin() + static_cast<int64_t>(row.prompt), row.ids.end());
    // What was held back may have a stop text too.
    result.end = row.stream.stopped() ? GenerateEnd::stop_text : end;
    result.forgotten = row.shown;
  }

  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  std::span<const GenerateRequest> requests_;
  const GenerateOptions& options_;
  const GenerateCallbacks& callbacks_;
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

int32_t separator_of(const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  return special.start >= 0 ? special.start : special.end;
}

std::vector<Generated> generate(const LoadedLanguageModel& model,
                                std::span<const GenerateRequest> requests,
                                const GenerateOptions& options,
                                const GenerateCallbacks& callbacks) {
  check_sampling(options.sampling);
  for (const int32_t id : options.forbidden) {
    check(id >= 0 && id < model.tokenizers.target->size(),
          "[generate] token {} is forbidden, expected 0 to {}", id,
          model.tokenizers.target->size() - 1);
  }
  return Generation(model, requests, options, callbacks).run();
}

}  // namespace heed
