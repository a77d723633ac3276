#include "serve/services/music_service.h"

#include <algorithm>

#include "base/error.h"

namespace heed::serve {
namespace {

const char* name_of(MusicForm form) {
  return form == MusicForm::chorale ? "chorale" : "performance";
}

}  // namespace

MusicService::Work::Work(MusicJob& wanted, const LoadedLanguageModel& model)
    : job(wanted),
      composition(model, wanted.motif, wanted.options),
      told([this](const MusicProgress& progress) {
        if (pace.due()) {
          job.tell(Progress{.share = progress.share, .done = progress.notes});
        }
      }),
      rows(composition.rows(1, told)) {}

TextRequest MusicService::Work::request() {
  return {.prompt = composition.prompt(),
          .options = composition.generating(),
          .more = [this](int32_t id) { return rows.add(0, id); }};
}

MusicService::MusicService(std::shared_ptr<const LoadedLanguageModel> model)
    : model_(std::move(model)) {
  MusicService::reset();
}

bool MusicService::serves(const ModelSpec& spec, const FolderConfig& config) {
  return spec.interface == ModelInterface::language && config.music().has_value();
}

std::unique_ptr<MusicService> MusicService::load(const FolderToServe& folder) {
  return std::make_unique<MusicService>(load_as<LanguageModel>(folder.path, folder.compute));
}

std::set<std::string> MusicService::abilities() const {
  return with_attention({"music"}, model_->spec());
}

Json MusicService::describe() const {
  return {{"context", model_->model->context()},
          {"vocabulary", model_->model->vocabulary()},
          {"form", name_of(form())}};
}

void MusicService::reset() {
  // Long motifs are shown in pieces, so that the others go on meanwhile.
  constexpr PrefillOptions kPrefill{.tokens = 512};
  rows_.emplace(*model_->model, *model_->tokenizers.target, kPrefill);
  works_.clear();
}

void MusicService::admit(Job& job) {
  auto* wanted = dynamic_cast<MusicJob*>(&job);
  check(wanted != nullptr, "[serve] this model only continues music");
  if (wanted->attention) {
    check_has_attention(*model_);
  }
  auto work = std::make_unique<Work>(*wanted, *model_);
  wanted->tokens_in = std::ssize(work->composition.prompt());
  const uint64_t row = rows_->add(work->request());
  works_.emplace(row, std::move(work));
}

void MusicService::drop(Job& job) {
  const auto found = std::find_if(works_.begin(), works_.end(),
                                  [&](const auto& entry) { return &entry.second->job == &job; });
  if (found != works_.end()) {
    rows_->remove(found->first);
    works_.erase(found);
  }
}

void MusicService::turn() {
  for (const TextAdvance& moved : rows_->step()) {
    Work& work = *works_.at(moved.row);
    if (moved.token) {
      work.made.ids.push_back(moved.token->id);
      work.job.tokens_out += 1;
    }
    if (!moved.end && !moved.error) {
      continue;
    }
    const std::unique_ptr<Work> done = std::move(works_.at(moved.row));
    works_.erase(moved.row);
    try {
      if (moved.error) {
        std::rethrow_exception(moved.error);
      }
      done->made.end = *moved.end;
      done->made.forgotten = moved.forgotten;
      finish(*done);
    } catch (...) {
      done->job.fail_with_exception(Fault::engine);
    }
  }
}

void MusicService::finish(Work& work) {
  MusicJob& job = work.job;
  job.piece = work.composition.finish(work.rows, 0, work.made);
  if (job.attention) {
    job.looked = attention_of_notes(*model_, job.piece);
  }
  job.finish(work.made.end);
}

bool AccompanyService::serves(const ModelSpec& spec, const FolderConfig& config) {
  return spec.interface == ModelInterface::translation && config.music().has_value();
}

std::unique_ptr<AccompanyService> AccompanyService::load(const FolderToServe& folder) {
  return std::make_unique<AccompanyService>(load_model(folder.path, folder.compute));
}

std::set<std::string> AccompanyService::abilities() const { return {"accompany"}; }

Json AccompanyService::describe() const { return {{"form", name_of(form())}}; }

void AccompanyService::admit(Job& job) {
  auto* wanted = dynamic_cast<AccompanyJob*>(&job);
  check(wanted != nullptr, "[serve] this model only accompanies melodies");
  jobs_.push_back(wanted);
}

void AccompanyService::turn() {
  if (jobs_.empty()) {
    return;
  }
  AccompanyJob& job = *jobs_.front();
  jobs_.pop_front();
  Pace pace;
  try {
    std::vector<AccompaniedPiece> pieces =
        accompany_melody(*model_, job.melody, job.options, [&](const MusicProgress& progress) {
          check(!job.unwanted(), "[serve] the client disconnected");
          job.tokens_out = progress.tokens;
          if (pace.due()) {
            job.tell(Progress{.share = progress.share, .done = progress.notes});
          }
        });
    job.piece = std::move(pieces.front());
  } catch (const Error&) {
    job.fail_with_exception(Fault::request);
    return;
  } catch (...) {
    job.fail_with_exception(Fault::engine);
    return;
  }
  job.finish(job.piece.end);
}

}  // namespace heed::serve
