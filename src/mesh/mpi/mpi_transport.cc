// MPI behind the Transport: the only file that knows it. It is a module of its own, opened when a
// launcher has started several processes (mesh/launch.h), so that the program itself needs no MPI
// and starts without it.
//
// Only messages that do not block are used, and they are tested in turns with sleeping: a process
// that waits leaves its core to others, and knows at any time from whom it still waits.
#include <fmt/ranges.h>
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <vector>

#include "base/error.h"
#include "mesh/transport.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

// MPI counts in int.
constexpr size_t kMostBytes = size_t{1} << 30;
// How long a process that waits keeps asking before it begins to sleep, and then between questions.
constexpr std::chrono::microseconds kPatience{100};
constexpr long kNap = 50'000;  // nanoseconds

void checked(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail("[mpi] {}: {}", call, std::string(text, static_cast<size_t>(length)));
  }
}

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    check(provided >= MPI_THREAD_SERIALIZED,
          "[mpi] this MPI has thread level {}, expected MPI_THREAD_SERIALIZED ({})", provided,
          MPI_THREAD_SERIALIZED);
    checked(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    checked(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    MPI_Comm local;
    checked(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
            "MPI_Comm_split_type");
    checked(MPI_Comm_size(local, &local_size_), "MPI_Comm_size");
    MPI_Comm_free(&local);
  }
  ~MpiTransport() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }
  void set_deadline(double seconds) override { deadline_ = seconds; }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::abort();  // MPI_Abort does not return
  }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, int channel) override {
    std::vector<MPI_Request> requests;
    std::vector<int> peers;
    {
      const std::lock_guard lock(mutex_);
      for (const Incoming& message : in) {
        in_pieces(message.bytes, [&](size_t begin, int count) {
          checked(MPI_Irecv(static_cast<std::byte*>(message.data) + begin, count, MPI_BYTE,
                            message.rank, channel, MPI_COMM_WORLD, &requests.emplace_back()),
                  "MPI_Irecv");
          peers.push_back(message.rank);
        });
      }
      for (const Outgoing& message : out) {
        in_pieces(message.bytes, [&](size_t begin, int count) {
          checked(MPI_Isend(static_cast<const std::byte*>(message.data) + begin, count, MPI_BYTE,
                            message.rank, channel, MPI_COMM_WORLD, &requests.emplace_back()),
                  "MPI_Isend");
          peers.push_back(message.rank);
        });
      }
    }
    wait(requests, peers);
  }

 private:
  template <typename Body>
  static void in_pieces(size_t bytes, const Body& body) {
    for (size_t begin = 0; begin < bytes; begin += kMostBytes) {
      body(begin, static_cast<int>(std::min(kMostBytes, bytes - begin)));
    }
  }

  void wait(std::vector<MPI_Request>& requests, const std::vector<int>& peers) {
    std::vector<int> finished(requests.size());
    size_t left = requests.size();
    Clock::time_point last = Clock::now();
    while (left > 0) {
      int count = 0;
      {
        const std::lock_guard lock(mutex_);
        checked(MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count,
                             finished.data(), MPI_STATUSES_IGNORE),
                "MPI_Testsome");
      }
      if (count > 0) {
        left -= static_cast<size_t>(count);
        last = Clock::now();
        continue;
      }
      rest(Clock::now() - last, requests, peers);
    }
  }

  void rest(Clock::duration waited, const std::vector<MPI_Request>& requests,
            const std::vector<int>& peers) const {
    if (waited < kPatience) {
      sched_yield();
      return;
    }
    if (std::chrono::duration<double>(waited).count() > deadline_) {
      std::set<int> late;
      for (size_t i = 0; i < requests.size(); ++i) {
        if (requests[i] != MPI_REQUEST_NULL) {
          late.insert(peers[i]);
        }
      }
      fail(
          "[mesh] process {} has waited {:.0f} s for process {}, which does not answer; the run "
          "ends here, and what it has saved is whole (mesh.deadline of a recipe, or --deadline)",
          rank_, deadline_, fmt::join(late, ", "));
    }
    const timespec nap{.tv_sec = 0, .tv_nsec = kNap};
    nanosleep(&nap, nullptr);
  }

  std::mutex mutex_;
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
  double deadline_ = 300.0;
};

}  // namespace
}  // namespace heed

// What mesh/launch.cc looks for.
extern "C" heed::Transport* heed_open_transport() { return new heed::MpiTransport; }
