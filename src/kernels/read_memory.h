// Reads memory as fast as this CPU can and does nothing else: what `heed bench memory` measures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::kernels {

// The exclusive or of all 32-bit words of [data, data + bytes); bytes is a multiple of 256. On all
// threads.
uint32_t read_memory(const void* data, size_t bytes);

}  // namespace heed::kernels
