#!/usr/bin/env bash
# Checks that a folder under src/ includes only itself and folders with a lower number.
#   tools/check-layers.sh [SRC]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
src=${1:-$root/src}

layers="base=0 tensor=1 text=1 music=1 kernels=2 formats=2 mesh=2 autograd=3 data=3 image=3 ops=4 nn=5 models=6 decode=7 train=8 tasks=9 serve=9 cli=10"
# Quoted includes of other projects; Highway's own idiom quotes its headers.
foreign="hwy"

mapfile -t files < <(find "$src" -type f \( -name '*.h' -o -name '*.cc' \) | LC_ALL=C sort)
if [[ ${#files[@]} -eq 0 ]]; then
  echo "check-layers: no .h or .cc file under $src" >&2
  exit 1
fi

awk -v src="$src/" -v layers="$layers" -v foreign="$foreign" '
  function report(what) {
    printf "%s:%d: %s\n", path, FNR, what
    bad = 1
  }
  BEGIN {
    n = split(layers, pairs, " ")
    for (i = 1; i <= n; i++) {
      split(pairs[i], pair, "=")
      number[pair[1]] = pair[2]
    }
    n = split(foreign, names, " ")
    for (i = 1; i <= n; i++) is_foreign[names[i]] = 1
  }
  FNR == 1 {
    path = substr(FILENAME, length(src) + 1)
    owner = path
    # The umbrella header, which users include, stands above everything but the program.
    umbrella = (path == "heed.h")
    if (!umbrella) {
      if (!sub(/\/.*/, "", owner)) report("belongs to no folder; only heed.h may stand directly in src/")
      else if (!(owner in number)) report("folder \"" owner "\" has no layer; give it a number in tools/check-layers.sh")
    }
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ || /^[ \t]*#[ \t]*define[ \t]+HWY_TARGET_INCLUDE[ \t]+"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    header = target
    if (header == "heed.h") {
      report("the umbrella header is for users; include what is needed")
    } else if (!sub(/\/.*/, "", target)) {
      report("include \"" header "\" by its path from src/, such as \"" owner "/" header "\"")
    } else if (target in is_foreign) {
      next
    } else if (!(target in number)) {
      report("\"" header "\" is in no layer; use <> for headers of other projects")
    } else if (umbrella) {
      if (target == "cli") report("the umbrella header may not include \"" header "\"")
    } else if (target != owner && (owner in number) && number[target] + 0 >= number[owner] + 0) {
      report(owner "/ (layer " number[owner] ") may not include \"" header "\" (layer " number[target] ")")
    }
  }
  END { exit bad }
' "${files[@]}"
echo "check-layers: ${#files[@]} files keep to the layers"
