// oneDNN, hidden: only onednn.cc includes its headers. Primitives are cached by shape, up to a
// bound; operands in a layout that oneDNN is slow on are first reordered into scratch memory.
#pragma once

#include "kernels/matmul/matmul.h"

namespace heed::kernels::onednn {

// Every distance set; no pre_activation; the activation may be none only. Thread safe.
void matmul(const Matmul& args);
// The product alone on operands of its own, laid out as oneDNN likes them.
double best_seconds(const Matmul& args, int repetitions);
bool has_bf16();  // this CPU has what oneDNN needs for bf16 products
bool inside();

}  // namespace heed::kernels::onednn
