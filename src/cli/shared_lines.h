// Work that processes started together share: `mpirun -n 4 heed translate --model m --output o f`.
//
//   const Group processes = open_processes(arguments.deadline);
//   TextOutput output(arguments.output);
//   SharedLines lines(arguments.file, output, processes);
//   for (std::vector<std::string> pool; lines.next_pool(pool);) {
//     for (const std::string& result : results_of(pool)) {
//       lines.print(result + "\n");
//     }
//   }
//   lines.finish();
//
// A process alone reads pools as they come, from standard input too, and what it prints goes out at
// once. Several processes go through the file in rounds: each reads the file itself and takes an
// equal part of the round's lines; then the first one writes its own results and those of the
// others, process by process, which is the order of the lines. Its output is that of one process.
//
// The results travel as messages and not through temporary files, because the processes may have
// no folder in common, and because a run that is killed then leaves no parts behind. A round ends
// for all at the same time, so that nobody has more than one part in memory, and a process that
// hangs is noticed after a round and the deadline at the latest.
//
// A file that is written appears only in finish(), when the results of all lines have come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/text/lines.h"
#include "mesh/group.h"

namespace heed::cli {

class Command;

// `--output FILE`, for commands that print lines.
void add_output(Command& command, std::string& output);
// `--deadline SECONDS`, for commands that share their work.
void add_deadline(Command& command, double& deadline);

// All processes that were started together, this one among them; a group of one if there are no
// others. `deadline` is how many seconds they wait for one another.
Group open_processes(double deadline);

// Where results go. Only the first process opens, writes and finishes.
class LineOutput {
 public:
  virtual ~LineOutput() = default;
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  virtual void open() {}
  virtual void write(std::string_view results) = 0;
  virtual void finish() {}

 protected:
  LineOutput() = default;
};

// Standard output, or a file that appears when it is complete.
class TextOutput final : public LineOutput {
 public:
  explicit TextOutput(const std::string& file);  // empty: standard output

  void open() override;
  void write(std::string_view results) override;
  void finish() override;

 private:
  std::string name_;
  std::optional<AtomicFile> file_;
};

class SharedLines {
 public:
  // "-" is standard input, for one process. The output and the group outlive this.
  SharedLines(const std::string& file, LineOutput& output, const Group& processes);

  // Hands over what was printed for the pool before, and reads the next one of this process; false
  // if there is none.
  bool next_pool(std::vector<std::string>& pool);
  int64_t first_line() const { return first_line_; }  // number of the pool's first line, from 1

  // Results of this pool's lines, and warnings about them, which go to standard error.
  void print(std::string_view results);
  void warn(std::string_view warnings);

  // After the last pool.
  void finish();

  // How much of the file is done if this much of the pool is, from 0 to 1; 0 where nobody knows.
  double share(double of_pool) const;
  const std::string& name() const { return reader_.name(); }  // of the file, for messages

 private:
  bool read_part(std::vector<std::string>& pool);
  void hand_over();
  void write(std::string_view warnings, std::string_view results);
  int64_t begin_of(int64_t part) const;

  const Group& processes_;
  LineOutput& output_;
  LineReader reader_;
  int64_t first_line_ = 1;
  double before_ = 0.0;    // share of the file before the pool; of one process
  bool has_pool_ = false;  // whose results are still to be handed over
  int64_t lines_ = 0;      // of the file; these and the following: of several processes
  int64_t rounds_ = 0;     // in which each process has one part
  int64_t round_ = 0;      // the next one
  std::string results_;
  std::string warnings_;
};

}  // namespace heed::cli
