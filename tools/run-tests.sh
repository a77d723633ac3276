#!/usr/bin/env bash
# Runs ctest with a preset, three tests for two cores, since some of them wait. If tests fail, the end of what each of
# them said comes last, where a long log is read first. Tests of the server and of the program (labels serve and cli) wait
# for each other's processes, which a busy machine may delay: if only such tests fail, they run again, one at a time. A
# race that ThreadSanitizer reports counts at once.
# Usage: tools/run-tests.sh PRESET [CTEST_OPTION...]
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
# Several test programs share the cores; threads that spin while they wait would take them from each other.
export OMP_WAIT_POLICY=passive
status=0
ctest --preset "$preset" --parallel $((($(nproc) * 3 + 1) / 2)) "$@" || status=$?
[[ $status -ne 0 ]] || exit 0
awk -v longest=40 '
  / Testing: / { name = $0; sub(/.* Testing: /, "", name); lines = 0; reading = 0 }
  reading && $0 == "<end of output>" { reading = 0 }
  reading { said[lines++] = $0 }
  $0 == "Output:" { reading = 1; lines = -1 }
  $0 == "Test Failed." {
    printf "\n== %s said\n", name
    for (i = lines > longest ? lines - longest : 0; i < lines; i++) print said[i]
  }' "build/$preset/Testing/Temporary/LastTest.log" >&2
[[ $preset != tsan ]] || exit "$status"
timed=$(ctest --preset "$preset" -N --label-regex '^(serve|cli)$' | sed -n 's/^ *Test *#[0-9]*: //p')
while read -r name; do
  grep -qxF -- "$name" <<< "$timed" || exit "$status"
done < <(sed 's/^[0-9]*://' "build/$preset/Testing/Temporary/LastTestsFailed.log")
printf '\n== once more, one at a time\n' >&2
ctest --preset "$preset" --rerun-failed
