// Who proposes tokens that a language model then judges several at once: a smaller model, or the
// model's own heads. TextRows asks for proposals for all its rows and tells what became of them.
//
// A proposer keeps the rows that TextRows has, in their order. It belongs to the same thread; the
// models must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/sampling.h"
#include "models/model.h"

namespace heed {

struct GenerateOptions;

// Who proposes, if anybody does.
struct SpeculationOptions {
  const LanguageModel* draft = nullptr;  // a smaller model that runs ahead
  int64_t draft_tokens = 4;              // that it says in each round
  bool heads = false;                    // the model's own heads, where there is no draft
};

struct Proposal {
  int32_t id = 0;
  std::vector<float> probabilities = {};  // that it was drawn with; empty: it was certain
};

// A row to propose something for.
struct ProposalRow {
  std::span<const int32_t> ids;  // what is known of it
  const GenerateOptions& options;
  uint64_t sample = 0;
  int64_t said = 0;  // tokens of the row behind its prompt
  int64_t most = 0;  // proposals that it can take
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  Proposer() = default;
  Proposer(const Proposer&) = delete;
  Proposer& operator=(const Proposer&) = delete;

  // Rows that are still to come see more of their prompts, as in LanguageModel::step(); `state` is
  // theirs, null at first.
  virtual void show(const Tensor& tokens, std::span<const int64_t> lengths,
                    std::unique_ptr<DecodeState>& state) const = 0;
  // `count` rows that have seen their prompts come behind the others.
  virtual void join(std::unique_ptr<DecodeState> state, size_t count) = 0;
  virtual void select(std::span<const int64_t> rows) = 0;
  virtual void clear() = 0;

  virtual std::vector<std::vector<Proposal>> propose(std::span<const ProposalRow> rows) = 0;
  // The first taken[r] proposals of row r stand, and one token of the model's own follows them.
  // hidden [R,C]: of each row's last token that stands.
  virtual void tell(std::span<const int64_t> taken, const Tensor& hidden) = 0;
};

// Random numbers of a row that are drawn beside those of its tokens, by the place of the token.
enum class SpeculationDraw : uint64_t {
  token = 0,
  draft = uint64_t{1} << 40,
  test = uint64_t{2} << 40
};
inline double speculation_uniform(uint64_t seed, uint64_t sample, SpeculationDraw draw,
                                  int64_t place) {
  return RandomStream{seed, sample}.uniform(static_cast<uint64_t>(draw) +
                                            static_cast<uint64_t>(place));
}

}  // namespace heed
