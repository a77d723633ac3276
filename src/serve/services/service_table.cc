#include "serve/services/service_table.h"

#include <array>

#include "base/error.h"
#include "serve/services/answer_service.h"
#include "serve/services/completion_service.h"
#include "serve/services/encode_service.h"
#include "serve/services/image_service.h"
#include "serve/services/music_service.h"
#include "serve/services/translate_service.h"

namespace heed::serve {
namespace {

struct Entry {
  bool (*serves)(const ModelSpec& spec, const FolderConfig& config);
  LoadedService (*load)(const FolderToServe& folder);
};

template <typename Served>
LoadedService load_as_service(const FolderToServe& folder) {
  std::unique_ptr<Served> service = Served::load(folder);
  const Offer* offer = service.get();
  return {std::move(service), offer};
}

template <typename Served>
constexpr Entry entry() {
  return {&Served::serves, &load_as_service<Served>};
}

// The first that serves a folder gets it.
constexpr std::array kServices{
    entry<CompletionService>(),  //
    entry<MusicService>(),       //
    entry<EncodeService>(),      //
    entry<TranslateService>(),   //
    entry<AccompanyService>(),   //
    entry<ImageService>(),       //
    entry<AnswerService>(),
};

}  // namespace

LoadedService load_service(const FolderToServe& folder) {
  const ModelSpec spec = folder.config.spec();
  check(folder.draft.empty() || CompletionService::serves(spec, folder.config),
        "[serve] {} is a {}: only a language model has a draft that runs ahead of it",
        folder.path.string(), spec.kind);
  for (const Entry& candidate : kServices) {
    if (candidate.serves(spec, folder.config)) {
      return candidate.load(folder);
    }
  }
  fail("[serve] {}: models of kind {} cannot be served", folder.path.string(), spec.kind);
}

}  // namespace heed::serve
