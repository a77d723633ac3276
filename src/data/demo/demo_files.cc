#include "data/demo/demo_files.h"

#include <fmt/core.h>

#include "base/file.h"
#include "base/folder.h"

namespace heed {
namespace {

void write_side(const std::filesystem::path& file, const std::vector<DemoPair>& pairs,
                std::string DemoPair::*side) {
  std::string text;
  for (const DemoPair& pair : pairs) {
    text += pair.*side + "\n";
  }
  write_file(file, text);
}

}  // namespace

void write_demo_corpus(const DemoCorpus& corpus, const std::filesystem::path& folder) {
  make_folders(folder);
  const std::pair<const char*, const std::vector<DemoPair>*> parts[] = {
      {"train", &corpus.train}, {"valid", &corpus.valid}, {"test", &corpus.test}};
  for (const auto& [name, pairs] : parts) {
    write_side(folder / fmt::format("{}.en", name), *pairs, &DemoPair::source);
    write_side(folder / fmt::format("{}.it", name), *pairs, &DemoPair::target);
  }
  std::string cases;
  for (size_t i = 0; i < corpus.test.size(); ++i) {
    const DemoPair& pair = corpus.test[i];
    if (!pair.ambiguous.empty()) {
      cases += fmt::format("{}\t{}\t{}\n", i + 1, pair.ambiguous, pair.expected);
    }
  }
  write_file(folder / "test.ambiguous.tsv", cases);
}

}  // namespace heed
