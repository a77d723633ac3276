#include "models/language/universal_language.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"

namespace heed {

struct UniversalLanguage::State : DecodeState {
  UniversalStack::State stack;
};

UniversalLanguage::UniversalLanguage(const Scope& s, const UniversalLanguageConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)))),
      stack_(s / "decoder", config.stack(true, config.context)) {
  if (!config.tied_output) {
    output_.emplace(s / "output", config.width, config.vocabulary, false);
  }
}

Tensor UniversalLanguage::vectors(const Tensor& tokens) const {
  return dropout(tokens_(tokens, std::sqrt(static_cast<float>(config_.width))),
                 config_.dropout);  // [B,T,C]
}

Tensor UniversalLanguage::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : tokens_.logits(x);  // [..., V]
}

void UniversalLanguage::check_context(int64_t past, int64_t length) const {
  check(past + length <= config_.context,
        "[universal language model] {} tokens after {}, expected at most {} in all", length, past,
        config_.context);
}

Tensor UniversalLanguage::logits(const Tensor& tokens, int64_t first) const {
  check(tokens.rank() == 2 && tokens.size() > 0,
        "[universal language model] tokens is {}, expected [B,T]", tokens.shape());
  check_context(first, tokens.dim(1));
  const std::vector<int64_t> past(static_cast<size_t>(tokens.dim(0)), first);
  UniversalStack::Context context;
  context.self.causal = true;
  context.places.past = past;
  return project(stack_(vectors(tokens), context));  // [B,T,V]
}

std::unique_ptr<DecodeState> UniversalLanguage::start() const {
  auto state = std::make_unique<State>();
  state->stack = stack_.start();
  return state;
}

Tensor UniversalLanguage::next(const Tensor& tokens, State& state,
                               const UniversalStack::Next& shown) const {
  const Places places{.past = state.stack.seen, .lengths = shown.lengths};
  for (int64_t row = 0; row < tokens.dim(0); ++row) {
    check_context(row < std::ssize(state.stack.seen) ? places.before(row) : 0,
                  places.length(row, tokens.dim(1)));
  }
  return stack_.step(vectors(tokens), state.stack, shown);  // [R,T,C]
}

Tensor UniversalLanguage::step(const Tensor& tokens, DecodeState& base,
                               std::span<const int64_t> lengths) const {
  auto& state = static_cast<State&>(base);
  const std::vector<int64_t>& seen = state.stack.seen;
  check_rows("universal language model", tokens, lengths, seen.empty() ? 0 : seen.front());
  return project(last_rows(next(tokens, state, {.lengths = lengths}), lengths));  // [R,V]
}

Verified UniversalLanguage::verify(const Tensor& tokens, std::span<const int64_t> lengths,
                                   DecodeState& base) const {
  check_lengths("universal language model", tokens, lengths, 0);
  auto& state = static_cast<State&>(base);
  const Tensor x = without_padding(next(tokens, state, {.lengths = lengths, .stepwise = true}),
                                   lengths);  // [N,C]
  return {x, project(x)};                     // [N,C], [N,V]
}

void UniversalLanguage::roll_back(DecodeState& state, std::span<const int64_t> dropped) const {
  static_cast<State&>(state).stack.roll_back(dropped);
}

void UniversalLanguage::select(DecodeState& state, std::span<const int64_t> rows) const {
  static_cast<State&>(state).stack.select(rows);
}

void UniversalLanguage::join(DecodeState& state, const DecodeState& more) const {
  stack_.join(static_cast<State&>(state).stack, static_cast<const State&>(more).stack);
}

ModelSpec spec_of(const UniversalLanguageConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.context,
          .attention = true};
}

void adapt(UniversalLanguageConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

}  // namespace heed
