// Messages between the processes of one run. MPI is behind this interface (mesh/mpi/), and threads
// of one process are in the tests, so that everything above can be tested without a launcher.
//
// Safe from many threads, as long as each channel belongs to one thread of a process at a time.
#pragma once

#include <cstddef>
#include <span>

namespace heed {

struct Outgoing {
  int rank;  // to whom
  const void* data;
  size_t bytes;
};

struct Incoming {
  int rank;  // from whom
  void* data;
  size_t bytes;
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // How many processes of this run share the machine, this one included.
  virtual int local_size() const = 0;

  // Sends and receives at the same time, and returns when all of it is done. Messages of one
  // process to another on the same channel arrive in the order in which they were sent. A process
  // that does not answer within the deadline is an Error that names it.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                        int channel) = 0;
  // Seconds that a process waits for another one.
  virtual void set_deadline(double seconds) = 0;

  // Ends all processes of the run, this one included.
  [[noreturn]] virtual void abort(int status) = 0;

 protected:
  Transport() = default;
};

}  // namespace heed
