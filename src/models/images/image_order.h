// In which order the samples of an image come, and what attention to them sees: everything before
// (full), a line of samples (local 1D), or a block of the image (local 2D); Parmar et al. 2018.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "nn/block_attention.h"

namespace heed {

struct ImageOrderConfig {
  std::string attention = "local2d";  // full, local1d, local2d
  int64_t block = 256;                // local 1D: samples of a block of queries
  int64_t memory = 256;               // and before it
  int64_t block_rows = 8;             // local 2D: the block of queries, in pixels
  int64_t block_columns = 8;
  int64_t memory_rows = 8;     // how far its memory reaches up
  int64_t memory_columns = 8;  // and to both sides
};

struct ImageOrder {
  std::vector<int32_t> raster;            // index of each step's sample
  std::vector<int32_t> step;              // the reverse: when each sample comes
  std::shared_ptr<const BlockPlan> plan;  // in steps
};
// Blocks that do not divide the image are an Error.
ImageOrder order_image(const ImageLayout& layout, const ImageOrderConfig& config);

// For each step the samples that came before it and lie around it: `radius` pixels up, left and
// right, as raster indices; -1 where there is none. [T, count]
struct Neighbours {
  int64_t count = 0;
  std::vector<int32_t> raster;
};
Neighbours neighbours_of(const ImageLayout& layout, const ImageOrder& order, int64_t radius);

}  // namespace heed
