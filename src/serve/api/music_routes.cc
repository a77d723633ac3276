#include "serve/api/music_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/encoding/base64.h"
#include "formats/midi.h"
#include "music/melody.h"
#include "serve/api/exchange.h"
#include "serve/api/sampling_fields.h"
#include "serve/services/music_service.h"

namespace heed::serve {
namespace {

constexpr size_t kMostNotes = 20000;
constexpr double kMostSeconds = 600;
constexpr double kMostMotifSeconds = 3600;

double number_of(const Json& note, const char* key, double fallback, JsonRequest::Range range) {
  const auto found = note.find(key);
  if (found == note.end()) {
    return fallback;
  }
  const double value = found->is_number() ? found->get<double>() : -1e300;
  if (!(value >= range.least && value <= range.most)) {
    refuse(fmt::format("notes[].{}", key), shown(*found),
           fmt::format("a number from {} to {}", range.least, range.most));
  }
  return value;
}

int whole_of(const Json& note, const char* key, int fallback, JsonRequest::Range range) {
  const double value = number_of(note, key, fallback, range);
  if (std::trunc(value) != value) {
    refuse(fmt::format("notes[].{}", key), shown(note[key]), "a whole number");
  }
  return static_cast<int>(value);
}

Note note_of(const Json& given) {
  if (!given.is_object() || !given.contains("start") || !given.contains("end") ||
      !given.contains("pitch")) {
    refuse("notes", "a list that contains " + shown(given), "objects with start, end and pitch");
  }
  const double start = number_of(given, "start", 0.0, {0, kMostMotifSeconds});
  return {.start = start,
          .end = number_of(given, "end", 0.0, {start, kMostMotifSeconds}),
          .pitch = whole_of(given, "pitch", 60, {0, kPitches - 1}),
          .velocity = whole_of(given, "velocity", 64, {1, 127}),
          .channel = whole_of(given, "channel", 0, {0, kChannels - 1})};
}

// The notes of a request, `notes` or `midi`, without percussion; sets the tempo of a chorale.
std::vector<Note> read_notes(JsonRequest& fields, MusicForm form, MusicOptions& options) {
  MidiPiece piece;
  fields.ignore({"midi"});
  options.quarters_per_minute =
      fields.number("quarters_per_minute", options.quarters_per_minute, {5, 1000});
  const Json& notes = fields.raw("notes");
  if (fields.has("midi")) {
    fields.only("notes", nullptr);
    const std::string bytes = bytes_of(fields, "midi");
    piece = decode_midi(std::as_bytes(std::span(bytes)), "midi");
    if (form == MusicForm::chorale) {
      options.quarters_per_minute = even_tempo(piece);
    } else {
      apply_pedal(piece);
    }
  } else if (!notes.is_null()) {
    if (!notes.is_array() || notes.size() > kMostNotes) {
      refuse("notes", shown(notes), fmt::format("a list of at most {} notes", kMostNotes));
    }
    for (const Json& note : notes) {
      piece.notes.push_back(note_of(note));
    }
    std::sort(piece.notes.begin(), piece.notes.end(), [](const Note& a, const Note& b) {
      return std::tie(a.start, a.pitch) < std::tie(b.start, b.pitch);
    });
  }
  std::erase_if(piece.notes, [](const Note& note) { return note.channel == kPercussion; });
  return std::move(piece.notes);
}

MusicOptions read_options(JsonRequest& fields) {
  MusicOptions options;
  options.sampling = read_sampling(fields, options.sampling);
  options.seed = read_seed(fields);
  return options;
}

Json notes_json(const std::vector<Note>& notes) {
  Json list = Json::array();
  for (const Note& note : notes) {
    list.push_back({{"start", note.start},
                    {"end", note.end},
                    {"pitch", note.pitch},
                    {"velocity", note.velocity},
                    {"channel", note.channel}});
  }
  return list;
}

Json attention_json(const NoteAttention& looked) {
  Json layers = Json::array();
  for (const NoteAttentionLayer& layer : looked.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"heads", layer.heads},
                      {"weights", floats_in_base64(layer.weights)}});
  }
  return {{"queries", looked.queries}, {"keys", looked.keys}, {"layers", layers}};
}

Json piece_json(const MusicJob& job, const std::string& model) {
  const ContinuedPiece& piece = job.piece;
  Json answer{{"model", model},
              {"notes", notes_json(piece.notes)},
              {"motif_end", piece.motif_end},
              {"duration", piece.duration},
              {"midi", base64(encode_midi(piece.notes))}};
  if (job.looked) {
    answer["attention"] = attention_json(*job.looked);
  }
  return answer;
}

Json progress_json(const Progress& progress) {
  return {{"progress", progress.share}, {"notes_so_far", progress.done}};
}

HttpResponse continue_piece(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "music");
  MusicOptions options = read_options(fields);
  std::vector<Note> motif = read_notes(fields, model.served_by<MusicService>().form(), options);
  const bool by_tokens = fields.has("max_tokens") && !fields.has("seconds");
  options.seconds = fields.number("seconds", by_tokens ? 0.0 : 10.0, {0, kMostSeconds});
  const int64_t most = std::min<int64_t>(most_tokens(options.seconds), kMostOutput);
  options.max_tokens = fields.integer("max_tokens", most, {1, kMostOutput});
  const bool attention = fields.flag("attention", false);
  const bool stream = fields.flag("stream", false);
  fields.finish();
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<MusicJob>(reply, std::move(motif), options, attention);
  submit(request, model, job);
  return answer_job(request,
                    {.reply = reply,
                     .stream = stream,
                     .progress = progress_json,
                     .answer = [job, name = model.name] { return piece_json(*job, name); }});
}

HttpResponse accompany_piece(const HttpRequest& request, const Hub& hub) {
  JsonRequest fields(request.body);
  const ServedModel& model = hub.find(fields.text("model", ""), "accompany");
  MusicOptions options = read_options(fields);
  const std::vector<Note> notes =
      read_notes(fields, model.served_by<AccompanyService>().form(), options);
  const bool stream = fields.flag("stream", false);
  fields.finish();
  std::vector<Note> melody = split_melody(notes).melody;
  if (melody.empty() || melody.back().end > kMostSeconds) {
    refuse("notes", melody.empty() ? "empty" : fmt::format("{:.0f} s long", melody.back().end),
           fmt::format("a melody of at most {} s", kMostSeconds));
  }
  const auto reply = std::make_shared<Reply>();
  const auto job = std::make_shared<AccompanyJob>(reply, std::move(melody), options);
  submit(request, model, job);
  return answer_job(request, {.reply = reply,
                              .stream = stream,
                              .progress = progress_json,
                              .answer = [job, name = model.name]() -> Json {
                                return {{"model", name},
                                        {"notes", notes_json(job->piece.notes)},
                                        {"duration", job->piece.duration},
                                        {"midi", base64(encode_midi(job->piece.notes))}};
                              }});
}

}  // namespace

void add_music_routes(HttpServer& server, Hub& hub) {
  server.route("POST", "/v1/music/continue",
               [&hub](const HttpRequest& request) { return continue_piece(request, hub); });
  server.route("POST", "/v1/music/accompany",
               [&hub](const HttpRequest& request) { return accompany_piece(request, hub); });
}

}  // namespace heed::serve
