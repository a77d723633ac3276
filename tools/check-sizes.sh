#!/usr/bin/env bash
# Checks that no source file has more than 600 lines, no C++ function more than 60, signature and braces included, and no
# folder of src/ more than 30 files.
#   tools/check-sizes.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${1:-$(dirname "$here")}
max_file=600
max_function=60
max_folder=30

folders=()
for folder in src tests bench tools; do
  [[ -d $root/$folder ]] && folders+=("$root/$folder")
done
if [[ ${#folders[@]} -eq 0 ]]; then
  echo "check-sizes: $root has none of src, tests, bench, tools" >&2
  exit 1
fi

mapfile -t files < <(find "${folders[@]}" -type f \
  \( -name '*.h' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' -o -name '*.cmake' -o -name '*.js' -o -name '*.css' \) |
  LC_ALL=C sort)
cpp_files=()
failed=0
for file in "${files[@]}"; do
  lines=$(wc -l <"$file")
  if ((lines > max_file)); then
    echo "${file#"$root"/}: $lines lines, at most $max_file are allowed; split the file"
    failed=1
  fi
  case $file in *.h | *.cc) cpp_files+=("$file") ;; esac
done

while read -r count folder; do
  if ((count > max_folder)); then
    echo "$folder: $count files, at most $max_folder are allowed; split the folder"
    failed=1
  fi
done < <(cd "$root" && [[ ! -d src ]] || find src -type f -printf '%h\n' | LC_ALL=C sort | uniq -c)

if [[ ${#cpp_files[@]} -gt 0 ]]; then
  awk -v root="$root/" -v limit="$max_function" -f "$here/function-lengths.awk" "${cpp_files[@]}" || failed=1
fi
((failed == 0)) || exit 1
echo "check-sizes: ${#files[@]} files are short enough"
