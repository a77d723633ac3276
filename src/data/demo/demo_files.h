// The built-in corpus as files: train, valid and test in .en and .it, and test.ambiguous.tsv with
// line number, English word and expected Italian form.
#pragma once

#include <filesystem>

#include "data/demo/demo_corpus.h"

namespace heed {

void write_demo_corpus(const DemoCorpus& corpus, const std::filesystem::path& folder);

}  // namespace heed
