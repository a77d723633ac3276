// Ways to turn sources into translations: what every way has in common, and the table of all.
//
// Whatever the way, what happens to a sentence depends on that sentence alone, so its translation
// is the same in whatever batch it comes. A new way is one line in decoding.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/acceptance.h"
#include "models/model.h"
#include "text/tokenizer.h"

namespace heed {

struct DecodeOptions {
  std::string decoding = {};    // a name of decodings(); empty: what the model is for
  int64_t beam = 4;             // 1: greedy
  float length_penalty = 0.6F;  // alpha
  int64_t n_best = 1;           // hypotheses returned, at most `beam`
  int64_t max_length = 0;       // of a translation in tokens; 0: 2 * source + 16
  bool forced_length = false;   // exactly max_length tokens: END is never said (for measuring)
  SpecialIds special = {};      // of the target
  int64_t vocabulary = 0;       // ids below may be said; 0: all that the model has
  int32_t end = -1;             // ends a translation; -1: END
  std::vector<std::vector<int32_t>> suppress = {};  // sequences that must not be said

  // Of blockwise decoding.
  int64_t block = 0;           // most tokens that are proposed together; 0: as the model has it
  Acceptance acceptance = {};  // which proposals stand
  float sure = 0.0F;           // proposals of a lower probability are not verified

  // Of parallel decoding.
  int64_t iterations = 10;                 // most passes of refine
  int64_t candidates = 1;                  // lengths that are tried
  const Seq2SeqModel* rescorer = nullptr;  // chooses among candidates; null: their own scores do

  bool trace = false;  // hypotheses tell what stood there after each pass
};

struct Hypothesis {
  std::vector<int32_t> ids;                      // without START and END
  double log_probability = 0.0;                  // of the ids and END
  double score = 0.0;                            // with the length penalty: what ranks
  int64_t steps = 0;                             // passes of the decoder that it took
  std::vector<std::vector<int32_t>> trace = {};  // the ids after each pass, START for a mask
};

// A source with its ids as the model wants them, and what the translation must begin with.
struct DecodeRequest {
  std::vector<int32_t> source;
  std::vector<int32_t> prefix = {};
  int64_t max_length = 0;  // of its translation in tokens; 0: as the options say
};

// A batch of sources, padded.
struct SourceBatch {
  Tensor ids;      // i32 [B,S]
  Tensor lengths;  // i32 [B]
};
// Throws if a request has no source, or a prefix with ids that do not exist.
SourceBatch source_batch(const TranslationModel& model, std::span<const DecodeRequest> requests,
                         const DecodeOptions& options);
// The most tokens that the translation of a request may have.
int64_t length_limit(const DecodeRequest& request, const DecodeOptions& options,
                     const TranslationModel& model);
// What ends a translation.
inline int32_t end_of(const DecodeOptions& options) {
  return options.end >= 0 ? options.end : options.special.end;
}
// Makes tokens impossible that no translation may contain: START, PAD, embeddings that only round
// up the vocabulary, and END if the length is forced. logits f32 [..., V]
void forbid_tokens(const DecodeOptions& options, const Tensor& logits);

// The same for what may not follow `said`: tokens that would complete a sequence that is
// suppressed.
void forbid_after(const DecodeOptions& options, std::span<const int32_t> said,
                  std::span<float> logits);

double length_penalty(int64_t length, float alpha);

// Tokens, END counted, that a pass of the decoder gave on average: of the first hypothesis of each.
struct PassCount {
  int64_t tokens = 0;
  int64_t passes = 0;

  void add(const Hypothesis& hypothesis) {
    tokens += std::ssize(hypothesis.ids) + 1;
    passes += hypothesis.steps;
  }
  double mean() const {
    return passes > 0 ? static_cast<double>(tokens) / static_cast<double>(passes) : 0.0;
  }
};

// The hypotheses of each request, at least one, best first.
using DecodeBatch = std::function<std::vector<std::vector<Hypothesis>>(
    const TranslationModel& model, std::span<const DecodeRequest> requests,
    const DecodeOptions& options)>;

struct DecodingKind {
  std::string name;
  std::string help;       // what it does, in a line
  std::string training;   // how a model for it is trained, in a line
  bool prefix = false;    // a translation can be forced to begin with given tokens
  bool n_best = false;    // there are several hypotheses
  bool suppress = false;  // sequences of tokens can be forbidden
  std::function<int64_t(const DecodeOptions& options)> rows;  // that a source takes in a batch
  std::function<bool(const TranslationModel& model)> can;     // the model was trained for it
  DecodeBatch decode;
  // Throws if the model cannot heed the options; null: any will do.
  std::function<void(const TranslationModel& model, const DecodeOptions& options)> check = nullptr;
};
std::span<const DecodingKind> decodings();
std::vector<std::string> decoding_names();

// By its name; "" is what the model is for: the last of the table that it can do. An Error that
// says what the model can do, and how one is trained for the other.
const DecodingKind& decoding_for(const TranslationModel& model, std::string_view name);
// Throws if the way of decoding, or the model, cannot heed the options. Prefixes are checked with
// the requests.
void check_decoding(const TranslationModel& model, const DecodingKind& kind,
                    const DecodeOptions& options);

// One batch, decoded as the options say.
std::vector<std::vector<Hypothesis>> decode_batch(const TranslationModel& model,
                                                  std::span<const DecodeRequest> requests,
                                                  const DecodeOptions& options);

// Called after each batch with the share of the source tokens that are done, from 0 to 1.
using OnDecoded = std::function<void(double share)>;

// Any number of requests: sorted by length, in batches of at most `batch_tokens` padded source
// tokens times the beam; results in the order of the requests.
std::vector<std::vector<Hypothesis>> decode_all(const TranslationModel& model,
                                                std::span<const DecodeRequest> requests,
                                                const DecodeOptions& options, int64_t batch_tokens,
                                                const OnDecoded& on_decoded = {});

}  // namespace heed
