// Large vocabularies at less cost: rare words have narrower vectors, on the way in (adaptive
// inputs, Baevski and Auli 2019) and on the way out (adaptive softmax, Grave et al. 2017).
//
// The vocabulary is cut into bands by frequency, which is the order of its ids. The first band, the
// head, has vectors of full width; band i has vectors shrink^i times narrower, and a projection. On
// the way out the head's softmax also has a place for each other band, so that
//
//   log p(w) = log p(w | head)                          if w is in the head
//   log p(w) = log p(band | head) + log p(w | band)     otherwise
//
// and the loss computes a band for those positions alone whose word is in it.
//
// Parameters belong to the store; forward passes are const.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers.h"
#include "tensor/tensor.h"

namespace heed {

struct AdaptiveConfig {
  int64_t vocabulary = 10000;
  int64_t width = 512;
  std::vector<int64_t> cutoffs = {2000};  // the first ids of the bands behind the head
  int64_t shrink = 4;
  bool tied = true;                  // the bands' vectors are the same on both ways
  float standard_deviation = 0.02F;  // of the initial values
};

class AdaptiveVocabulary {
 public:
  AdaptiveVocabulary(const Scope& s, const AdaptiveConfig& config);

  // tokens i32 [...] -> [..., C]
  Tensor embed(const Tensor& tokens) const;
  // x [..., C] -> log p of all words, f32 [..., V]
  Tensor log_probabilities(const Tensor& x) const;
  // The mean of -log p of the targets i32 [...] of x [..., C]; those that are kIgnore do not count.
  Tensor loss(const Tensor& x, const Tensor& targets) const;

 private:
  struct Band {
    int64_t begin, end;             // ids
    Embedding vectors;              // [ids, width of the band]
    std::vector<Embedding> output;  // the same on the way out, if they are not tied
    std::vector<Linear> up, down;   // to the full width and back; none for the head

    const Embedding& said() const { return output.empty() ? vectors : output.front(); }
  };
  // Logits of the head: its words, then the other bands.
  Tensor head_logits(const Tensor& x) const;
  // Logits of the words of another band.
  Tensor band_logits(const Band& band, const Tensor& x) const;
  size_t band_of(int32_t token) const;

  int64_t width_;
  std::vector<Band> bands_;
  Linear others_;  // [bands behind the head, C]
};

}  // namespace heed
