// Families of sentences of the built-in corpus. Each draws one sentence with its translation.
#pragma once

#include <span>

#include "data/demo/demo_phrases.h"

namespace heed::demo {

struct Family {
  int weight = 0;
  Sentence (*draw)(Draw&) = nullptr;
};
std::span<const Family> plain_families();
std::span<const Family> ambiguous_families();

}  // namespace heed::demo
