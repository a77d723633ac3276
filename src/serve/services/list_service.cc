#include "serve/services/list_service.h"

#include <algorithm>

#include "base/error.h"

namespace heed::serve {

void ListService::admit(Job& job) {
  ListJob& list = checked(job);
  check(list.size() > 0, "[serve] the list of texts is empty, expected at least one");
  jobs_.push_back(&list);
}

void ListService::drop(Job& job) { std::erase(jobs_, &job); }

// Texts of all jobs in turn: of each the next, then of each the one after it.
std::vector<ListService::Item> ListService::gather(std::span<ListJob* const> jobs) const {
  std::vector<Item> items;
  int64_t left = turn_cost_;
  for (size_t round = 0;; ++round) {
    const size_t before = items.size();
    for (ListJob* job : jobs) {
      const size_t index = job->taken + round;
      if (index < job->size()) {
        left -= job->cost(index);
        if (left < 0 && !items.empty()) {
          return items;
        }
        items.push_back({job, index});
      }
    }
    if (items.size() == before) {
      return items;
    }
  }
}

void ListService::turn() {
  ListJob& first = *jobs_.front();
  const auto others = std::stable_partition(jobs_.begin(), jobs_.end(), [&](ListJob* job) {
    return job == &first || together(first, *job);
  });
  const std::vector<ListJob*> chosen(jobs_.begin(), others);
  const std::vector<Item> items = gather(chosen);
  try {
    work(items);
  } catch (...) {
    work_alone(items);
  }
  for (const Item& item : items) {
    item.job->taken += 1;
  }
  for (ListJob* job : chosen) {
    if (job->outcome() == Outcome::running && job->taken == job->size()) {
      job->finish();
    }
  }
  // Those that do not go with these are next, and the first of these the last.
  std::rotate(jobs_.begin(), others, jobs_.end());
  std::rotate(jobs_.end() - std::ssize(chosen), jobs_.end() - std::ssize(chosen) + 1, jobs_.end());
  std::erase_if(jobs_, [](const ListJob* job) { return job->outcome() != Outcome::running; });
}

// Again, each job's texts by themselves, to find whose fault it was.
void ListService::work_alone(std::span<const Item> items) const {
  std::vector<ListJob*> jobs;
  for (const Item& item : items) {
    if (std::find(jobs.begin(), jobs.end(), item.job) == jobs.end()) {
      jobs.push_back(item.job);
    }
  }
  for (ListJob* job : jobs) {
    std::vector<Item> own;
    std::copy_if(items.begin(), items.end(), std::back_inserter(own),
                 [&](const Item& item) { return item.job == job; });
    try {
      work(own);
    } catch (...) {
      job->fail_with_exception(Fault::engine);
    }
  }
}

}  // namespace heed::serve
