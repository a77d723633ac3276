// What a training shows: on a terminal a bar that is rewritten, in a pipe plain lines.
#pragma once

#include <cstdio>
#include <filesystem>

#include "train/trainer.h"

namespace heed::cli {

class TrainProgress : public TrainObserver {
 public:
  explicit TrainProgress(std::filesystem::path folder);

  void started(const RunReport& report) override;
  void stepped(const StepReport& report) override;
  void validated(const ValidationReport& report) override;
  void noted(const std::string& text) override;
  void end();  // leaves the bar's line

 private:
  void line(const std::string& text);

  std::filesystem::path folder_;
  bool terminal_;
  bool open_bar_ = false;
};

// "1:02:07", "3:05"; "?" if not known.
std::string format_seconds(double seconds);

}  // namespace heed::cli
