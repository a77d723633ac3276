#!/usr/bin/env bash
# From a fresh Debian 12 to a running engine: installs what is missing, builds, and shows what it does.
set -euo pipefail
cd "$(dirname "$0")"
tools/install-deps.sh build
cmake --preset release -DHEED_BUILD_TESTS=OFF
cmake --build --preset release
echo
echo "The engine on this machine: training steps, decoding and attention, in f32 and bf16."
build/release/heed bench --reps 2
