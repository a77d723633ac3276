#include "decode/text/decoding_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace heed {
namespace {

struct OptionRange {
  double least;
  double most;
  double most_served;
};

// An option that is a number of DecodeOptions.
template <typename T>
DecodingOption number(const std::string& name, const std::string& help, T DecodeOptions::*member,
                      const std::vector<std::string>& decodings, const OptionRange& range) {
  return {.name = name,
          .help = help,
          .decodings = decodings,
          .least = range.least,
          .most = range.most,
          .most_served = range.most_served,
          .get = [member](const DecodeOptions& options) { return Json(options.*member); },
          .set = [member](DecodeOptions& options,
                          const Json& value) { options.*member = value.get<T>(); }};
}

void check_value(const DecodingOption& option, const Json& value) {
  const bool right_type = option.whole() ? value.is_number_integer() : value.is_number();
  check(right_type && value.get<double>() >= option.least && value.get<double>() <= option.most,
        "[decode] {} is {}, expected a {} from {} to {}", option.name, value.dump(),
        option.whole() ? "whole number" : "number", option.least, option.most);
}

}  // namespace

std::span<const DecodingOption> decoding_options() {
  static const std::vector<DecodingOption> all{
      number("beam", "hypotheses that go on at each step", &DecodeOptions::beam, {"beam", "latent"},
             {1, 256, 16}),
      number("length_penalty", "above 0 favours long translations", &DecodeOptions::length_penalty,
             {"beam"}, {0, 10, 10}),
      number("block", "most tokens of a pass; 0: as many as the model proposes",
             &DecodeOptions::block, {"blockwise"}, {0, 64, 64}),
      number("iterations", "most passes", &DecodeOptions::iterations, {"refine"}, {1, 1000, 100}),
      number("candidates", "lengths that are tried", &DecodeOptions::candidates,
             {"parallel", "refine"}, {1, 100, 16}),
  };
  return all;
}

std::vector<const DecodingOption*> options_of(const DecodingKind& kind) {
  std::vector<const DecodingOption*> found;
  for (const DecodingOption& option : decoding_options()) {
    if (std::find(option.decodings.begin(), option.decodings.end(), kind.name) !=
        option.decodings.end()) {
      found.push_back(&option);
    }
  }
  return found;
}

void check_options(const DecodingKind& kind, const DecodeOptions& options) {
  for (const DecodingOption* option : options_of(kind)) {
    check_value(*option, option->get(options));
  }
}

void set_option(DecodeOptions& options, const DecodingKind& kind, const std::string& name,
                const Json& value) {
  std::vector<std::string> names;
  for (const DecodingOption* option : options_of(kind)) {
    names.push_back(option->name);
    if (option->name == name) {
      check_value(*option, value);
      option->set(options, value);
      return;
    }
  }
  fail("[decode] decoding {} has no option {}; {}", kind.name, name,
       names.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(names, ", ")));
}

}  // namespace heed
