// Trainings that are followed while they run: /v1/runs and /v1/runs/NAME, read from the log in
// their folders. The folders are those given at the start; requests only choose among their names.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/http.h"

namespace heed::serve {

struct FollowedRun {
  std::string name;
  std::filesystem::path folder;
};
// A folder by its name, which must be another than those of the others.
void add_run(std::vector<FollowedRun>& runs, const std::filesystem::path& folder);

void add_run_routes(HttpServer& server, const std::vector<FollowedRun>& runs);

}  // namespace heed::serve
