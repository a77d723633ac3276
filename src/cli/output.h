// Standard output, of which nothing may be lost without a word. Commands print with fmt::print and
// may ignore what fflush returns: main() watches here, and asks at the end whether all arrived.
#pragma once

namespace heed::cli {

// Takes the place of standard streams that are closed, so that no file the program opens gets their
// numbers and what is printed. Writing to them still fails.
void occupy_closed_streams();

// From now on the reason of a write to standard output that fails is remembered. Before the first
// output.
void watch_output();

// Writes what is buffered. The status to exit with: `status` if all output arrived; else the reason
// is on standard error and the status is not 0. A reader that has gone away (EPIPE) is no fault to
// talk about: the status is then that of a process that SIGPIPE ended.
int finish_output(int status);

}  // namespace heed::cli
