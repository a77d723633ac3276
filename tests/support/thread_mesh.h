// Processes of a mesh as threads of one: their messages go through memory.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "mesh/mesh.h"

namespace heed::testing {

// Where messages lie until they are received, by (from, to, channel).
struct ThreadMail {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> boxes;
  bool failed = false;  // a process ended with an error: the others need not wait
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(ThreadMail& mail, int rank, int size) : mail_(mail), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return size_; }
  void set_deadline(double seconds) override { deadline_ = seconds; }
  [[noreturn]] void abort(int /*status*/) override { throw Error("[mesh] aborted"); }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, int channel) override {
    std::unique_lock lock(mail_.mutex);
    for (const Outgoing& message : out) {
      const auto* data = static_cast<const std::byte*>(message.data);
      mail_.boxes[{rank_, message.rank, channel}].emplace_back(data, data + message.bytes);
    }
    mail_.arrived.notify_all();
    for (const Incoming& message : in) {
      auto& box = mail_.boxes[{message.rank, rank_, channel}];
      const bool came = mail_.arrived.wait_for(lock, std::chrono::duration<double>(deadline_),
                                               [&] { return !box.empty() || mail_.failed; });
      check(came && !box.empty(), "[mesh] process {} does not answer", message.rank);
      check(box.front().size() == message.bytes, "[mesh] {} bytes came, expected {}",
            box.front().size(), message.bytes);
      std::memcpy(message.data, box.front().data(), message.bytes);
      box.pop_front();
    }
  }

 private:
  ThreadMail& mail_;
  int rank_;
  int size_;
  double deadline_ = 60.0;
};

// Calls body(mesh) for every process of a mesh, each on a thread of its own with one core. The
// first error of any of them is thrown.
inline void on_mesh(const MeshConfig& config, const std::function<void(const Mesh&)>& body) {
  int processes = 1;
  for (const MeshAxis& axis : parse_axes(config.axes)) {
    processes *= axis.size;
  }
  ThreadMail mail;
  FirstError error;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < processes; ++rank) {
    threads.emplace_back([&, rank] {
      set_num_threads(1);
      ThreadTransport transport(mail, rank, processes);
      error.guard([&] {
        try {
          const Mesh mesh(transport, config);
          body(mesh);
        } catch (...) {
          const std::lock_guard lock(mail.mutex);
          mail.failed = true;
          mail.arrived.notify_all();
          throw;
        }
      });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  error.rethrow();
}

}  // namespace heed::testing
