#include "base/parallel.h"

#include "base/error.h"

namespace heed {

void set_num_threads(int threads) {
  check(threads >= 1 && threads <= 4096, "[threads] {} threads asked for, expected 1 to 4096",
        threads);
  omp_set_num_threads(threads);
}

}  // namespace heed
