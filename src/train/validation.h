// How good a model is on pairs it does not learn from: loss, and BLEU of its own translations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/batches.h"
#include "decode/text/decoding.h"
#include "models/folder.h"
#include "models/model.h"

namespace heed {

// Where a batch of the data pipeline meets the model. All rows come `copies` times.
Batch to_tensors(const HostBatch& batch, int64_t copies = 1);

// The mean loss of a batch's targets.
using BatchLoss = std::function<double(const HostBatch& batch)>;
// The mean over all targets of all batches.
double mean_loss(const BatchLoss& loss, const std::vector<HostBatch>& batches);
// The cross-entropy of each token given those before it, without smoothing.
BatchLoss token_loss(const Seq2SeqModel& model);

struct ValidationScore {
  double loss = 0.0;                      // of a target token
  double bleu = -1.0;                     // below 0: not computed
  PassCount passes = {};                  // of the translations
  std::vector<std::string> translations;  // if BLEU was computed
};

struct ValidationOptions {
  bool bleu = true;
  int64_t sentences = 0;  // translated; 0: all
  DecodeOptions decode = {};
  int64_t batch_tokens = 4096;
};

// A held-out set, encoded once.
class ValidationSet {
 public:
  struct Setting {
    Tokenizers tokenizers;
    bool source_end = true;
    int64_t batch_tokens = 4096;
  };
  ValidationSet(const std::string& source, const std::string& target, const Setting& setting);
  ValidationSet(std::vector<std::string> sources, std::vector<std::string> targets,
                const Setting& setting);

  ValidationScore score(const TranslationModel& model, const BatchLoss& loss,
                        const ValidationOptions& options) const;
  double loss(const BatchLoss& loss) const { return mean_loss(loss, batches_); }
  // Best translation of each of the first `sentences` sources; 0: all.
  std::vector<std::string> translate(const TranslationModel& model,
                                     const ValidationOptions& options) const;

  const std::vector<std::string>& sources() const { return sources_; }
  const std::vector<std::string>& targets() const { return targets_; }

 private:
  void prepare();
  std::vector<std::vector<Hypothesis>> decode(const TranslationModel& model,
                                              const ValidationOptions& options) const;
  std::vector<std::string> texts_of(std::span<const std::vector<Hypothesis>> decoded) const;

  Setting setting_;
  std::vector<std::string> sources_;
  std::vector<std::string> targets_;
  std::vector<HostBatch> batches_;
  std::vector<DecodeRequest> requests_;
};

}  // namespace heed
