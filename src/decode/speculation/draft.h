// A smaller language model that runs ahead of a larger one (Leviathan, Kalman and Matias 2023): it
// says the next few tokens one by one, and the larger model judges them all in one pass.
#pragma once

#include <memory>
#include <string>

#include "decode/speculation/proposer.h"
#include "text/tokenizer.h"

namespace heed {

// An Error where the draft cannot run ahead of the model: it has to look as far back, and both have
// to take tokens back.
std::unique_ptr<Proposer> make_draft(const SpeculationOptions& options, const LanguageModel& model,
                                     const Tokenizer& tokenizer);

// An Error that names both if the two differ: a token has to mean the same to both models.
struct NamedTokenizer {
  std::string name;
  const Tokenizer& tokenizer;
};
void check_same_vocabulary(const NamedTokenizer& model, const NamedTokenizer& draft);

}  // namespace heed
