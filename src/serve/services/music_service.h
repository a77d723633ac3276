// Music for requests: continuations, advanced together token by token, and accompaniments.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decode/music/accompany.h"
#include "decode/music/composition.h"
#include "decode/music/note_attention.h"
#include "serve/engine.h"
#include "serve/pace.h"
#include "serve/services/offer.h"

namespace heed::serve {

// One piece that goes on where a motif ends.
class MusicJob : public Job {
 public:
  MusicJob(std::shared_ptr<Reply> reply, std::vector<Note> begin, const MusicOptions& wanted,
           bool look)
      : Job(std::move(reply)), motif(std::move(begin)), options(wanted), attention(look) {}

  std::vector<Note> motif;
  MusicOptions options;
  bool attention;  // what the notes looked back at is wanted too

  ContinuedPiece piece;
  std::optional<NoteAttention> looked;
};

class MusicService : public Service, public Offer {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<MusicService> load(const FolderToServe& folder);

  explicit MusicService(std::shared_ptr<const LoadedLanguageModel> model);

  void admit(Job& job) override;
  void turn() override;
  void drop(Job& job) override;
  void reset() override;

  std::set<std::string> abilities() const override;
  Json describe() const override;
  MusicForm form() const { return music_of(*model_); }

 private:
  // A job while it is worked on. Stays where it is: the rows call back.
  struct Work {
    Work(MusicJob& wanted, const LoadedLanguageModel& model);
    TextRequest request();

    MusicJob& job;
    Composition composition;
    MusicCallback told;
    MusicRows rows;
    Pace pace;
    Generated made;
  };
  void finish(Work& work);

  std::shared_ptr<const LoadedLanguageModel> model_;
  std::optional<TextRows> rows_;
  std::map<uint64_t, std::unique_ptr<Work>> works_;  // by their rows
};

// An accompaniment of a melody, which is sorted by start and of one line.
class AccompanyJob : public Job {
 public:
  AccompanyJob(std::shared_ptr<Reply> reply, std::vector<Note> line, const MusicOptions& wanted)
      : Job(std::move(reply)), melody(std::move(line)), options(wanted) {}

  std::vector<Note> melody;
  MusicOptions options;
  AccompaniedPiece piece;
};

// One a turn.
class AccompanyService : public Service, public Offer {
 public:
  static bool serves(const ModelSpec& spec, const FolderConfig& config);
  static std::unique_ptr<AccompanyService> load(const FolderToServe& folder);

  explicit AccompanyService(std::shared_ptr<const LoadedModel> model) : model_(std::move(model)) {}

  void admit(Job& job) override;
  void turn() override;
  void drop(Job& job) override { std::erase(jobs_, &job); }
  void reset() override { jobs_.clear(); }

  std::set<std::string> abilities() const override;
  Json describe() const override;
  MusicForm form() const { return music_of(*model_); }

 private:
  std::shared_ptr<const LoadedModel> model_;
  std::deque<AccompanyJob*> jobs_;
};

}  // namespace heed::serve
