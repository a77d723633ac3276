#include "music/chorale.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "base/encoding/gzip.h"
#include "base/error.h"

namespace heed {
namespace {

using Json = nlohmann::json;

constexpr size_t kLargestFile = size_t{64} << 20;  // unpacked; the published ones have 2 MB
constexpr int kChoraleVelocity = 80;               // the grid has none
constexpr double kStepsPerQuarter = 4.0;

int parse_pitch(const Json& json) {
  check(json.is_number(), "{} instead of a pitch", json.type_name());
  const auto number = json.get<double>();  // some files write 65.0
  check(number >= kSilence && number < kPitches && number == std::floor(number),
        "pitch {}, expected a whole number from {} to {}", number, kSilence, kPitches - 1);
  return static_cast<int>(number);
}

ChoraleStep parse_step(const Json& json) {
  check(json.is_array(), "{} instead of a list of pitches", json.type_name());
  check(json.size() <= kVoices, "{} voices, expected at most {}", json.size(), kVoices);
  ChoraleStep step;
  step.fill(kSilence);
  for (size_t voice = 0; voice < json.size(); ++voice) {
    step[voice] = parse_pitch(json[voice]);
  }
  return step;
}

std::vector<Chorale> parse_split(const Json& json, std::string_view name, const char* split) {
  const auto found = json.find(split);
  check(found != json.end() && found->is_array(), "[chorale] {} has no list \"{}\"", name, split);
  std::vector<Chorale> pieces;
  for (const Json& piece : *found) {
    check(piece.is_array(), "[chorale] {}: {} {} is {}, expected a list of steps", name, split,
          pieces.size(), piece.type_name());
    Chorale chorale;
    for (const Json& step : piece) {
      try {
        chorale.push_back(parse_step(step));
      } catch (const Error& error) {
        fail("[chorale] {}: {} {}, step {}: {}", name, split, pieces.size(), chorale.size(),
             error.what());
      }
    }
    pieces.push_back(std::move(chorale));
  }
  return pieces;
}

}  // namespace

ChoraleSplits read_chorales(const std::filesystem::path& path) {
  return parse_chorales(read_unpacked(path, kLargestFile), path.string());
}

ChoraleSplits parse_chorales(std::string_view text, std::string_view name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    fail("[chorale] {} is not JSON: {}", name, error.what());
  }
  check(json.is_object(), "[chorale] {} holds {}, expected an object with train, valid and test",
        name, json.type_name());
  return {.train = parse_split(json, name, "train"),
          .valid = parse_split(json, name, "valid"),
          .test = parse_split(json, name, "test")};
}

std::vector<int32_t> encode_chorale(const Chorale& chorale) {
  std::vector<int32_t> ids;
  ids.reserve(chorale.size() * kVoices);
  for (const ChoraleStep& step : chorale) {
    for (const int pitch : step) {
      check(pitch >= kSilence && pitch < kPitches, "[chorale] pitch {}, expected {} to {}", pitch,
            kSilence, kPitches - 1);
      ids.push_back(pitch == kSilence ? kChoraleSilence : pitch);
    }
  }
  return ids;
}

Chorale decode_chorale(std::span<const int32_t> ids) {
  ChoraleStep silent;
  silent.fill(kSilence);
  Chorale chorale((ids.size() + kVoices - 1) / kVoices, silent);
  for (size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] >= 0 && ids[i] < kChoraleTokens, "[chorale] token {}, expected 0 to {}", ids[i],
          kChoraleTokens - 1);
    chorale[i / kVoices][i % kVoices] = ids[i] == kChoraleSilence ? kSilence : ids[i];
  }
  return chorale;
}

std::vector<Note> chorale_notes(const Chorale& chorale, double quarters_per_minute) {
  check(std::isfinite(quarters_per_minute) && quarters_per_minute > 0.0,
        "[chorale] {} quarter notes per minute, expected a positive number", quarters_per_minute);
  const double step_seconds = 60.0 / quarters_per_minute / kStepsPerQuarter;
  std::vector<Note> notes;
  for (int voice = 0; voice < kVoices; ++voice) {
    const auto pitch_at = [&](size_t step) { return chorale[step][static_cast<size_t>(voice)]; };
    size_t end = 0;
    for (size_t start = 0; start < chorale.size(); start = end) {
      const int pitch = pitch_at(start);
      for (end = start + 1; end < chorale.size() && pitch_at(end) == pitch;) {
        ++end;
      }
      if (pitch != kSilence) {
        notes.push_back({.start = static_cast<double>(start) * step_seconds,
                         .end = static_cast<double>(end) * step_seconds,
                         .pitch = pitch,
                         .velocity = kChoraleVelocity,
                         .channel = voice});
      }
    }
  }
  std::sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
    return std::tuple(a.start, a.channel) < std::tuple(b.start, b.channel);
  });
  return notes;
}

}  // namespace heed
