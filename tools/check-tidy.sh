#!/usr/bin/env bash
# Runs clang-tidy, as .clang-tidy says, over sources that stand in a build's compile_commands.json.
#   tools/check-tidy.sh BUILD_DIR             all files of the folders below: minutes, at first
#   tools/check-tidy.sh BUILD_DIR --changed   what changed since this last passed in BUILD_DIR, or in the last ten
#                                             commits if it never did: these files, and for each changed header its .cc
#                                             file, or else the first file that includes it
#   tools/check-tidy.sh BUILD_DIR FILE...
# A file that passed is not looked at again until it, a header that it includes or the settings change; BUILD_DIR/tidy/
# remembers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Kernels are left out: Highway compiles each file once per instruction set, and the headers drown the findings.
folders=(base tensor text music formats autograd data image nn models decode train tasks serve)

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
memory=$build/tidy
mkdir -p "$memory"

# all_files: those of the folders, sorted.
all_files() {
  local folder
  for folder in "${folders[@]}"; do
    [[ ! -d $root/src/$folder ]] || find "$root/src/$folder" -name '*.cc'
  done | LC_ALL=C sort
}

# base_commit: what --changed compares with.
base_commit() {
  local last
  last=$(cat "$memory/commit" 2>/dev/null || true)
  if [[ -n $last ]] && git -C "$root" merge-base --is-ancestor "$last" HEAD 2>/dev/null; then
    echo "$last"
  else
    git -C "$root" rev-list --max-count=11 --first-parent HEAD | tail -n 1
  fi
}

# changed_files COMMIT: files of the folders to look at, since COMMIT and not yet committed.
changed_files() {
  local path source
  {
    git -C "$root" diff --name-status --find-renames --diff-filter=d "$1" -- src | awk '$1 != "R100" { print $NF }'
    git -C "$root" ls-files --others --exclude-standard -- src
  } | while IFS= read -r path; do
    case $path in
      *.cc) echo "$root/$path" ;;
      *.h)
        source=$root/${path%.h}.cc
        if [[ ! -f $source ]]; then
          source=$(all_files | xargs -r -d '\n' grep -lF "#include \"${path#src/}\"" | head -n 1 || true)
        fi
        [[ -z $source ]] || echo "$source"
        ;;
    esac
  done | LC_ALL=C sort -u | LC_ALL=C comm -12 - <(all_files)
}

files=()
if [[ ${1:-} == --changed ]]; then
  since=$(base_commit)
  echo "check-tidy: looking at what changed since $(git -C "$root" log -1 --format='%h (%s)' "$since");" \
    "without --changed all files are looked at"
  mapfile -t files < <(changed_files "$since")
elif [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(all_files)
fi

# Precompiled headers are those of the compiler of the build, and would hide that an include is missing.
sed -E 's/ -Winvalid-pch| (-Xclang )?-include(-pch)? (-Xclang )?[^ ]*cmake_pch[^ ]*//g' \
  "$build/compile_commands.json" >"$memory/compile_commands.json"

# with_headers FILE...: each file in a line, followed by the headers of ours that it includes, directly or not.
with_headers() {
  printf '%s\n' "$@" | awk -v src="$root/src/" '
    function read_includes(file,    line, part) {
      known[file] = ""
      while ((getline line < file) > 0)
        if (split(line, part, "\"") == 3 && line ~ /^ *# *include/) known[file] = known[file] " " src part[2]
      close(file)
    }
    function visit(file,    list, n, i) {
      if (!(file in known)) read_includes(file)
      seen[file] = 1
      found = found " " file
      n = split(known[file], list, " ")
      for (i = 1; i <= n; i++) if (!(list[i] in seen)) visit(list[i])
    }
    { split("", seen); found = ""; visit($0); print substr(found, 2) }'
}

settings=$(cat "$root/.clang-tidy" <(clang-tidy --version) | sha256sum)
todo=()
if [[ ${#files[@]} -gt 0 ]]; then
  while IFS=' ' read -r -a content; do
    key=$({ echo "$settings" "${content[0]}" && cat "${content[@]}" 2>/dev/null; } | sha256sum | cut -d' ' -f1)
    [[ -e $memory/$key ]] || todo+=("$key" "${content[0]}")
  done < <(with_headers "${files[@]}")
fi
echo "check-tidy: ${#files[@]} files, $((${#todo[@]} / 2)) of them to look at"

# Each run keeps its output together; the count of suppressed warnings from other people's headers is noise.
export memory
# shellcheck disable=SC2016 # expanded by the inner shell
if [[ ${#todo[@]} -gt 0 ]] && ! printf '%s\0' "${todo[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c '
  if output=$(clang-tidy -p "$memory" --quiet --warnings-as-errors="*" --extra-arg=-Wno-unknown-warning-option "$2" 2>&1); then
    touch "$memory/$1"
  else
    printf "%s\n" "$output" | grep -v "warnings generated\|^Suppressed\|^Use -header-filter"
    exit 1
  fi' check-tidy; then
  echo "check-tidy: there are findings" >&2
  exit 1
fi
if [[ ${since:-} ]] && git -C "$root" diff --quiet HEAD -- src 2>/dev/null; then
  git -C "$root" rev-parse HEAD >"$memory/commit"
fi
