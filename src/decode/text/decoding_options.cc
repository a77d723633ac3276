#include "decode/text/decoding_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

struct OptionRange {
  double least;
  double most;
  double most_served;
};

using Get = std::function<Json(const DecodeOptions& options)>;
using Set = std::function<void(DecodeOptions& options, const Json& value)>;

DecodingOption entry(const std::string& name, const std::string& help,
                     const std::vector<std::string>& decodings, const OptionRange& range, Get get,
                     Set set) {
  return {.name = name,
          .help = help,
          .decodings = decodings,
          .least = range.least,
          .most = range.most,
          .most_served = range.most_served,
          .get = std::move(get),
          .set = std::move(set)};
}

// An option that is a number of DecodeOptions.
template <typename T>
DecodingOption number(const std::string& name, const std::string& help, T DecodeOptions::*member,
                      const std::vector<std::string>& decodings, const OptionRange& range) {
  return entry(
      name, help, decodings, range,
      [member](const DecodeOptions& options) { return Json(options.*member); },
      [member](DecodeOptions& options, const Json& value) { options.*member = value.get<T>(); });
}

Json get_top(const DecodeOptions& options) {
  const Acceptance& acceptance = options.acceptance;
  return acceptance.kind == Acceptance::Kind::top ? acceptance.within : int64_t{1};
}

void set_top(DecodeOptions& options, const Json& value) {
  options.acceptance.within = value.get<int64_t>();
  options.acceptance.kind =
      options.acceptance.within > 1 ? Acceptance::Kind::top : Acceptance::Kind::exact;
}

Json get_least_block(const DecodeOptions& options) { return options.acceptance.least; }

void set_least_block(DecodeOptions& options, const Json& value) {
  options.acceptance.least = value.get<int64_t>();
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
      entry("accept_top", "proposals that are among so many of the likeliest tokens stand",
            {"blockwise"}, {1, 1000, 1000}, get_top, set_top),
      entry("least_block", "tokens that stand in any case", {"blockwise"}, {1, 64, 64},
            get_least_block, set_least_block),
      number("sure", "proposals of a lower probability are not verified", &DecodeOptions::sure,
             {"blockwise"}, {0, 1, 1}),
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

DecodeOptions usual_options(const DecodingKind& kind) {
  DecodeOptions options{.decoding = kind.name};
  options.beam = kind.name == "latent" ? 1 : options.beam;
  return options;
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
