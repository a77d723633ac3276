#!/usr/bin/env bash
# Runs clang-tidy, as .clang-tidy says, over sources that stand in a build's compile_commands.json.
#   tools/check-tidy.sh BUILD_DIR [FILE...]
# Without files: the folders below. A file that passed is not looked at again until it, any header under src/ or the
# settings change; BUILD_DIR/tidy/ remembers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Kernels are left out: Highway compiles each file once per instruction set, and the headers drown the findings.
folders=(base tensor text music formats autograd data image nn models decode train serve)

if [[ $# -lt 1 || ! -f $1/compile_commands.json ]]; then
  echo "check-tidy: give a build folder with a compile_commands.json, such as build/release" >&2
  exit 2
fi
if ! command -v clang-tidy >/dev/null; then
  echo "check-tidy: clang-tidy is missing; run tools/install-deps.sh test" >&2
  exit 1
fi
build=$(cd "$1" && pwd)
shift
files=("$@")
if [[ ${#files[@]} -eq 0 ]]; then
  for folder in "${folders[@]}"; do
    [[ -d $root/src/$folder ]] || continue
    while IFS= read -r file; do files+=("$file"); done < <(find "$root/src/$folder" -name '*.cc' | LC_ALL=C sort)
  done
fi

passed=$build/tidy
mkdir -p "$passed"
settings=$(cat "$root/.clang-tidy" <(clang-tidy --version) <(find "$root/src" -name '*.h' -print0 |
  LC_ALL=C sort -z | xargs -0 -r cat) | sha256sum)

todo=()
for file in "${files[@]}"; do
  key=$({ echo "$settings" "$file" && cat "$file"; } | sha256sum | cut -d' ' -f1)
  [[ -e $passed/$key ]] || todo+=("$key" "$file")
done
echo "check-tidy: ${#files[@]} files, $((${#todo[@]} / 2)) of them to look at"
[[ ${#todo[@]} -gt 0 ]] || exit 0

# Each run keeps its output together; the count of suppressed warnings from other people's headers is noise.
export build passed
# shellcheck disable=SC2016 # expanded by the inner shell
if ! printf '%s\0' "${todo[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c '
  if output=$(clang-tidy -p "$build" --quiet --warnings-as-errors="*" --extra-arg=-Wno-unknown-warning-option "$2" 2>&1); then
    touch "$passed/$1"
  else
    printf "%s\n" "$output" | grep -v "warnings generated\|^Suppressed\|^Use -header-filter"
    exit 1
  fi' check-tidy; then
  echo "check-tidy: there are findings" >&2
  exit 1
fi
