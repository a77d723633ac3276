#include "autograd/checkpoint.h"

namespace heed {

const OpName kCheckpoint{"checkpoint"};

}  // namespace heed
