// Options of decoding by their names.
#include "decode/text/decoding_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/error_of.h"

namespace heed::testing {
namespace {

const DecodingKind& kind_of(const std::string& name) {
  const auto found = std::find_if(decodings().begin(), decodings().end(),
                                  [&](const DecodingKind& kind) { return kind.name == name; });
  EXPECT_NE(found, decodings().end()) << name;
  return *found;
}

TEST(DecodingOptions, EveryEntryIsWhole) {
  std::set<std::string> names;
  for (const DecodingOption& option : decoding_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " is there twice";
    EXPECT_FALSE(option.help.empty());
    EXPECT_FALSE(option.decodings.empty());
    for (const std::string& name : option.decodings) {
      kind_of(name);
    }
    EXPECT_LE(option.most_served, option.most);
    const auto usual = option.get(DecodeOptions{}).get<double>();
    EXPECT_GE(usual, option.least) << option.name;
    EXPECT_LE(usual, option.most_served) << option.name;
    DecodeOptions options;
    option.set(options, Json(option.least));
    EXPECT_EQ(option.get(options).get<double>(), option.least) << option.name;
  }
}

TEST(DecodingOptions, UsualBeams) {
  for (const DecodingKind& kind : decodings()) {
    const DecodeOptions options = usual_options(kind);
    EXPECT_EQ(options.decoding, kind.name);
    EXPECT_EQ(options.beam, kind.name == "latent" ? 1 : 4) << kind.name;
    check_options(kind, options);
  }
}

TEST(DecodingOptions, SetByName) {
  DecodeOptions options;
  set_option(options, kind_of("beam"), "beam", Json(7));
  set_option(options, kind_of("beam"), "length_penalty", Json(1));
  EXPECT_EQ(options.beam, 7);
  EXPECT_EQ(options.length_penalty, 1.0F);
  const auto error = [&](const char* kind, const char* name, const Json& value) {
    return error_of([&] { set_option(options, kind_of(kind), name, value); });
  };
  EXPECT_EQ(error("beam", "beam", Json(0)),
            "[decode] beam is 0, expected a whole number from 1 to 256");
  EXPECT_EQ(error("beam", "beam", Json(1.5)),
            "[decode] beam is 1.5, expected a whole number from 1 to 256");
  EXPECT_EQ(error("beam", "length_penalty", Json("high")),
            "[decode] length_penalty is \"high\", expected a number from 0 to 10");
  EXPECT_EQ(error("beam", "iterations", Json(2)),
            "[decode] decoding beam has no option iterations; it has: beam, length_penalty");
  EXPECT_EQ(error("greedy", "beam", Json(2)),
            "[decode] decoding greedy has no option beam; it has none");
  EXPECT_EQ(options.beam, 7) << "an error changed something";
  set_option(options, kind_of("blockwise"), "accept_top", Json(3));
  set_option(options, kind_of("blockwise"), "least_block", Json(2));
  EXPECT_EQ(options.acceptance.text(), "top-3");
  EXPECT_EQ(options.acceptance.least, 2);
  set_option(options, kind_of("blockwise"), "accept_top", Json(1));
  EXPECT_EQ(options.acceptance.text(), "exact");
  options.beam = 0;
  EXPECT_EQ(error_of([&] { check_options(kind_of("beam"), options); }),
            "[decode] beam is 0, expected a whole number from 1 to 256");
  check_options(kind_of("greedy"), options);  // which does not look at it
}

}  // namespace
}  // namespace heed::testing
