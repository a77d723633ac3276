// The options of decoding that users choose by name, in requests of the server and in comparisons:
// what each of them is, and which ways of decoding heed it. A new option is one entry in
// decoding_options.cc. Every function may be called from any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "decode/text/decoding.h"

namespace heed {

struct DecodingOption {
  std::string name;
  std::string help;                    // in a few words
  std::vector<std::string> decodings;  // names of the ways that heed it
  double least = 0.0;                  // of a number
  double most = 0.0;
  double most_served = 0.0;  // what a single request may ask for
  std::function<Json(const DecodeOptions& options)> get;
  std::function<void(DecodeOptions& options, const Json& value)> set;  // checks nothing

  bool whole() const { return get(DecodeOptions{}).is_number_integer(); }
};

std::span<const DecodingOption> decoding_options();
// Those that a way of decoding heeds.
std::vector<const DecodingOption*> options_of(const DecodingKind& kind);

// What this way of decoding does unless told otherwise: a beam of 4, and of 1 over the codes of
// latents, which are there to be quick.
DecodeOptions usual_options(const DecodingKind& kind);

// An Error that names the option, its value and what is expected, if one that this way of decoding
// heeds is out of its range.
void check_options(const DecodingKind& kind, const DecodeOptions& options);

// The same of one that is given by name, which this way of decoding has to heed.
void set_option(DecodeOptions& options, const DecodingKind& kind, const std::string& name,
                const Json& value);

}  // namespace heed
