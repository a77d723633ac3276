// Fertilities that a recipe names: how many words of each target come from each word of its source,
// as `heed distil --alignments` writes them, one line of counts for each line of the sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/pairs.h"

namespace heed {

// Those of the usable pairs of a corpus, in their order: a count for each token of a source, END
// included if sources have it. An Error that names the line if the counts do not fit its pair.
std::vector<std::vector<int64_t>> read_fertilities(const std::vector<std::string>& files,
                                                   const Corpus& corpus, bool source_end);

}  // namespace heed
