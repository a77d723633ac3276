#!/usr/bin/env bash
# Checks that the C++ sources are formatted as .clang-format says; with --fix, formats them.
#   tools/check-format.sh [--fix] [ROOT]
set -euo pipefail
arguments=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then
  arguments=(-i)
  shift
fi
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}

if ! command -v clang-format >/dev/null; then
  echo "check-format: clang-format is missing; run tools/install-deps.sh test" >&2
  exit 1
fi
folders=()
for folder in src tests bench; do
  [[ -d $root/$folder ]] && folders+=("$root/$folder")
done
if [[ ${#folders[@]} -eq 0 ]]; then
  echo "check-format: $root has none of src, tests, bench" >&2
  exit 1
fi
mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' \) | LC_ALL=C sort)
if [[ ${#files[@]} -gt 0 ]] && ! clang-format "${arguments[@]}" "${files[@]}"; then
  echo "check-format: run tools/check-format.sh --fix" >&2
  exit 1
fi
echo "check-format: ${#files[@]} files"
