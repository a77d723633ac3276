// What tests of services share: waiting for replies and for an engine that has nothing to do.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "serve/engine.h"

namespace heed::serve::testing {

using std::chrono::milliseconds;
inline constexpr milliseconds kLong{60000};

// All that came for one job until it ended.
struct Heard {
  std::string text;
  std::vector<DrawnToken> tokens;
  std::optional<Done> done;
  std::optional<Failed> failed;
};

// Until so many jobs of the reply have ended.
inline std::vector<Heard> hear(Reply& reply, size_t jobs) {
  std::vector<Heard> heard(jobs);
  for (size_t ended = 0; ended < jobs;) {
    const std::optional<Event> event = reply.next(kLong);
    if (!event) {
      ADD_FAILURE() << "nothing came";
      return heard;
    }
    Heard& own = heard.at(event->job);
    EXPECT_FALSE(own.done || own.failed) << "after the end";
    if (const auto* piece = std::get_if<TextPiece>(&event->what)) {
      own.text += piece->text;
      own.tokens.insert(own.tokens.end(), piece->tokens.begin(), piece->tokens.end());
    } else if (const auto* done = std::get_if<Done>(&event->what)) {
      own.done = *done;
      ++ended;
    } else if (const auto* failed = std::get_if<Failed>(&event->what)) {
      own.failed = *failed;
      ++ended;
    }
  }
  return heard;
}
inline Heard hear(Reply& reply) { return hear(reply, 1).front(); }

// Whether the counters come to be so.
inline bool soon(const Engine& engine, const std::function<bool(const EngineCounters&)>& so) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (std::chrono::steady_clock::now() < end) {
    if (so(engine.counters())) {
      return true;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}
inline bool idle_soon(const Engine& engine) {
  return soon(engine, [](const EngineCounters& now) { return now.busy == 0 && now.queued == 0; });
}

}  // namespace heed::serve::testing
