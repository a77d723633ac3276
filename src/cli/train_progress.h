// What a training shows on standard error. On a terminal: a line that moves, with a bar while it
// trains, and what it is doing while it does something else. In a pipe: plain lines.
//
// The line is redrawn by a thread of its own, so that it moves in the middle of long steps too.
// Every function may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "train/trainer.h"

namespace heed::cli {

class TrainProgress : public TrainObserver {
 public:
  explicit TrainProgress(std::filesystem::path folder);
  ~TrainProgress() override;
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  void doing(const std::string& what) override;
  void started(const RunReport& report) override;
  void advanced(const Advance& advance) override;
  void stepped(const StepReport& report) override;
  void validated(const ValidationReport& report) override;
  void noted(const std::string& text) override;
  void end();  // nothing is done any more: the moving line goes away

 private:
  using Clock = std::chrono::steady_clock;

  void line(const std::string& text);  // these are called with the mutex locked
  void draw();
  std::string bar_text() const;
  void erase_drawn();
  void redraw_until_stopped(const std::stop_token& stop);

  std::filesystem::path folder_;
  bool terminal_;
  bool colour_;
  std::mutex mutex_;         // guards what follows, and the terminal
  std::string doing_;        // empty: nothing; otherwise the line shows it
  bool training_ = false;    // the line is the bar
  bool reporting_ = false;   // its steps and validations: lines in a pipe say no more
  Clock::time_point since_;  // when it began to do so
  Advance at_ = {};
  std::optional<int64_t> total_steps_;
  std::string step_text_;  // of the last report
  bool drawn_ = false;
  size_t turns_ = 0;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: uses the others
};

// "1:02:07", "3:05"; "?" if not known.
std::string format_seconds(double seconds);

}  // namespace heed::cli
