// Services whose jobs are lists of texts: each turn takes some texts of all jobs that go together,
// as one batch. No job waits long for another's long list, and one that fails fails alone.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "serve/engine.h"

namespace heed::serve {

class ListJob : public Job {
 public:
  using Job::Job;

  virtual size_t size() const = 0;
  // The cost of one text: about as many as its tokens.
  virtual int64_t cost(size_t index) const = 0;

  size_t taken = 0;  // texts that are done, by the service
};

class ListService : public Service {
 public:
  void admit(Job& job) final;
  void turn() final;
  void drop(Job& job) final;
  void reset() final { jobs_.clear(); }

 protected:
  struct Item {
    ListJob* job;
    size_t index;
  };
  // The cost of the texts in a turn is at most so much, unless it is one text.
  explicit ListService(int64_t turn_cost) : turn_cost_(turn_cost) {}

  // The job if this service can do it, else an Error.
  virtual ListJob& checked(Job& job) const = 0;
  // Whether texts of both may come in one batch; a job always goes with itself.
  virtual bool together(const ListJob& a, const ListJob& b) const = 0;
  // Writes what is found into the jobs. An exception: nothing was done.
  virtual void work(std::span<const Item> items) const = 0;

 private:
  std::vector<Item> gather(std::span<ListJob* const> jobs) const;
  void work_alone(std::span<const Item> items) const;

  int64_t turn_cost_;
  std::vector<ListJob*> jobs_;  // the first is next
};

}  // namespace heed::serve
