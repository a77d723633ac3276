// The built-in corpus as files: train, valid and test in .en and .it, and test.ambiguous.tsv with
// line number, English word and expected Italian form.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include "data/demo/demo_corpus.h"

namespace heed {

inline constexpr std::array<std::string_view, 7> kDemoFiles = {
    "train.en", "train.it", "valid.en", "valid.it", "test.en", "test.it", "test.ambiguous.tsv"};

void write_demo_corpus(const DemoCorpus& corpus, const std::filesystem::path& folder);

}  // namespace heed
