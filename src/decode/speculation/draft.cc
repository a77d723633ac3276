#include "decode/speculation/draft.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "decode/speculation/speculative_sampling.h"
#include "decode/text/text_rows.h"

namespace heed {
namespace {

const VerifyingModel& verifying(const LanguageModel& model, const char* which) {
  const auto* own = dynamic_cast<const VerifyingModel*>(&model);
  check(own != nullptr,
        "[generate] {} cannot take tokens back, which speculative decoding needs: expected a "
        "Transformer such as gpt2",
        which);
  return *own;
}

// A few steps, taken back together: what a draft does when none of its tokens stands.
void try_rolling_back(const LanguageModel& model) {
  try {
    const Tensor token = Tensor::zeros({1, 1}, DType::i32);
    const VerifyingModel& draft = verifying(model, "the draft");
    const auto state = model.start();
    const std::vector<int64_t> one{1};
    const std::vector<int64_t> two{2};
    model.step(token, *state);
    draft.verify(token, one, *state);
    draft.verify(token, one, *state);
    draft.roll_back(*state, two);
  } catch (const Error& error) {
    fail("[generate] this model cannot be a draft: {}", error.what());
  }
}

class Draft final : public Proposer {
 public:
  Draft(const SpeculationOptions& options, const Tokenizer& tokenizer)
      : model_(*options.draft),
        verifying_(verifying(*options.draft, "the draft")),
        tokens_(options.draft_tokens),
        known_(static_cast<size_t>(tokenizer.size())) {}

  void show(const Tensor& tokens, std::span<const int64_t> lengths,
            std::unique_ptr<DecodeState>& state) const override {
    state = state ? std::move(state) : model_.start();
    model_.step(tokens, *state, lengths);
  }

  void join(std::unique_ptr<DecodeState> state, size_t count) override {
    if (behind_.empty()) {
      state_ = std::move(state);
    } else {
      model_.join(*state_, *state);
    }
    behind_.resize(behind_.size() + count, 1);  // the token that is drawn next
  }

  void select(std::span<const int64_t> rows) override {
    model_.select(*state_, rows);
    const std::vector<int64_t> old = std::exchange(behind_, {});
    for (const int64_t row : rows) {
      behind_.push_back(old[static_cast<size_t>(row)]);
    }
  }

  void clear() override {
    state_.reset();
    behind_.clear();
  }

  std::vector<std::vector<Proposal>> propose(std::span<const ProposalRow> rows) override;
  void tell(std::span<const int64_t> taken, const Tensor& hidden) override;

 private:
  int64_t wanted(const ProposalRow& row) const { return std::min(tokens_, row.most); }
  Proposal draw_one(const ProposalRow& row, std::span<const Proposal> before,
                    std::span<float> logits) const;

  const LanguageModel& model_;
  const VerifyingModel& verifying_;
  int64_t tokens_;
  size_t known_;
  std::unique_ptr<DecodeState> state_;
  std::vector<int64_t> behind_;    // tokens at the end of each row that it has not seen
  std::vector<int64_t> proposed_;  // for each row, in this round
};

// Rows that want something are shown what they have not seen, then what they said last, token by
// token. The last token of a round is not shown: perhaps it does not stand.
std::vector<std::vector<Proposal>> Draft::propose(std::span<const ProposalRow> rows) {
  std::vector<std::vector<Proposal>> all(rows.size());
  for (int64_t round = 0;; ++round) {
    std::vector<int64_t> lengths;
    for (size_t r = 0; r < rows.size(); ++r) {
      lengths.push_back(round < wanted(rows[r]) ? (round == 0 ? behind_[r] : 1) : 0);
    }
    const int64_t width = *std::max_element(lengths.begin(), lengths.end());
    if (width == 0) {
      break;
    }
    std::vector<int32_t> tokens(rows.size() * static_cast<size_t>(width), 0);
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto to = tokens.begin() + static_cast<int64_t>(r) * width;
      if (round == 0) {
        std::copy(rows[r].ids.end() - lengths[r], rows[r].ids.end(), to);
      } else if (lengths[r] > 0) {
        *to = all[r].back().id;
      }
    }
    const Tensor logits =
        verifying_.verify(Tensor::from_ints(tokens, {std::ssize(rows), width}), lengths, *state_)
            .logits.to(DType::f32);  // [N,V]
    std::vector<int64_t> ends(lengths.size());
    std::partial_sum(lengths.begin(), lengths.end(), ends.begin());
    parallel_tasks(std::ssize(rows), [&](int64_t task) {
      const auto r = static_cast<size_t>(task);
      if (lengths[r] > 0) {
        const Tensor last = logits.rows(ends[r] - 1, ends[r]);
        all[r].push_back(draw_one(rows[r], all[r], last.span<float>().first(known_)));
      }
    });
  }
  proposed_.clear();
  for (const std::vector<Proposal>& proposals : all) {
    proposed_.push_back(std::ssize(proposals));
  }
  return all;
}

Proposal Draft::draw_one(const ProposalRow& row, std::span<const Proposal> before,
                         std::span<float> logits) const {
  std::vector<int32_t> ids(row.ids.begin(), row.ids.end());
  for (const Proposal& proposal : before) {
    ids.push_back(proposal.id);
  }
  forbid(row.options.forbidden, logits);
  Proposal proposal{.probabilities = probabilities(logits, ids, row.options.sampling)};
  proposal.id = draw(proposal.probabilities,
                     speculation_uniform(row.options.seed, row.sample, SpeculationDraw::draft,
                                         row.said + std::ssize(before)));
  return proposal;
}

void Draft::tell(std::span<const int64_t> taken, const Tensor& /*hidden*/) {
  std::vector<int64_t> dropped;
  for (size_t r = 0; r < taken.size(); ++r) {
    if (proposed_[r] == 0) {  // it saw nothing
      dropped.push_back(0);
      ++behind_[r];
    } else {
      const int64_t shown = proposed_[r] - 1;
      dropped.push_back(std::max<int64_t>(0, shown - taken[r]));
      behind_[r] = taken[r] > shown ? 2 : 1;
    }
  }
  verifying_.roll_back(*state_, dropped);
}

}  // namespace

std::unique_ptr<Proposer> make_draft(const SpeculationOptions& options, const LanguageModel& model,
                                     const Tokenizer& tokenizer) {
  check(options.draft_tokens >= 1, "[generate] a draft of {} tokens, expected 1 or more",
        options.draft_tokens);
  verifying(model, "the model");
  const int64_t context = options.draft->context();
  check(context == 0 || (model.context() > 0 && context >= model.context()),
        "[generate] the draft looks at {} tokens, expected at least {}, as many as the model",
        context, model.context() > 0 ? std::to_string(model.context()) : "all");
  try_rolling_back(*options.draft);
  return std::make_unique<Draft>(options, tokenizer);
}

void check_same_vocabulary(const NamedTokenizer& model, const NamedTokenizer& draft) {
  check(same_tokenizer(model.tokenizer, draft.tokenizer),
        "[generate] {} with {} tokens and the draft {} with {} have different tokenizers, expected "
        "the same: train the draft with text.folder set to the model",
        model.name, model.tokenizer.size(), draft.name, draft.tokenizer.size());
}

}  // namespace heed
