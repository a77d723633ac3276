// Intel AMX: tiles of 16 rows of 64 bytes. The form of the bf16 products (panels.h) on them.
// Everything but available() needs a processor for which available() is true.
#pragma once

namespace heed::panels {
struct Gemm;
struct BlockGemm;
}  // namespace heed::panels

namespace heed::amx {

// Whether this processor and kernel offer AMX bf16 tiles and HEED_MAX_ISA does not forbid them. The
// first call asks the kernel for permission; the answer is cached.
bool available();

// Loads the tile configuration on this thread and releases the tiles at the end, which keeps
// context switches cheap. Scopes do not nest.
struct TileScope {
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

void gemm(const panels::Gemm& args);
void block_gemm(const panels::BlockGemm& args);  // needs a live TileScope

}  // namespace heed::amx
