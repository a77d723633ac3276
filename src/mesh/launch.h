// Finds out whether a launcher (mpirun, srun, an MPIJob) has started this process together with
// others, and opens the way to them.
#pragma once

#include "mesh/transport.h"

namespace heed {

// Whether there are other processes; by the environment alone, without opening anything.
bool launched_together();
// Which of the processes this one is, in the same way; 0 if there are no others.
int launched_rank();

// The way to the other processes, or null: there are none. Opened at the first call, which loads
// the MPI module (heed_mpi.so beside the program, or ../lib/heed); an Error if there is none.
Transport* open_transport();
// At the program's regular end: takes leave of the others.
void close_transport();
// After an error: if there are others, ends them too, and with them this process.
void abort_together(int status);

}  // namespace heed
