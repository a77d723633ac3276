// What the lines of a corpus are like, which a translator's folder remembers: lines unlike them are
// translated sentence by sentence.
#pragma once

#include <string>

#include "data/text/pairs.h"
#include "models/folder_config.h"

namespace heed {

// Measures the first pairs of every file. `language` is that of the sources.
TrainingLines measure_training_lines(const Corpus& corpus, const std::string& language);

}  // namespace heed
