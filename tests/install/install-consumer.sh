#!/usr/bin/env bash
# install-consumer.sh CMAKE BUILD_DIR COMPILER
set -euo pipefail
cmake=$1
build=$2
compiler=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Installing is not allowed to depend on where the sources or the build are: the consumer sees only $work/prefix.
"$cmake" --install "$build" --prefix "$work/prefix"
if grep -rlF -e "$build" -e "$(cd "$here/../../src" && pwd)" "$work/prefix" --include='*.cmake' --include='*.h'; then
  echo "install-consumer: the files above name the source or build folder" >&2
  exit 1
fi

"$cmake" -S "$here/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/build"

output=$("$work/build/consumer")
echo "consumer prints: $output"
if [[ $output != "19 22 43 50" ]]; then
  echo "install-consumer: expected 19 22 43 50, the product of [1 2; 3 4] and [5 6; 7 8]" >&2
  exit 1
fi

# The program, when this build has one, starts from the new place.
if [[ -x $work/prefix/bin/heed ]]; then
  "$work/prefix/bin/heed" --help >/dev/null
fi
