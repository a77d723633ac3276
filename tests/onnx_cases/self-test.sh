#!/bin/bash
# The program must tell a right case from a wrong one, and name what is wrong with a file.
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

# expect CODE TEXT FILE: the program's exit code, and a text in what it prints.
expect() {
  local output code
  output=$("$program" "$3" 2>&1)
  code=$?
  if [ "$code" -ne "$1" ] || ! grep -qF -- "$2" <<<"$output"; then
    printf 'expected exit code %s and "%s", got %s:\n%s\n' "$1" "$2" "$code" "$output"
    faults=$((faults + 1))
  fi
}

# erf_case EXPECTED: a case with x = 0, 0.5
erf_case() {
  printf '%s%s%s\n' '{"test": "t", "op": "Erf", "opset": {"ai.onnx": 13}, "attrs": {}, ' \
    '"node_inputs": ["x"], "node_outputs": ["y"], "inputs": [{"name": "x", "dtype": "float32", ' \
    '"shape": [2], "data": [0, 0.5]}], "outputs": [{"name": "y", "dtype": "float32", "shape": [2], "data": ['"$1"']}]}'
}

cd "$folder" || exit 1
erf_case '0, 0.5204998778' >right
erf_case '0, 0.5205998778' >wrong
erf_case '0, "nan"' >nan
erf_case '0' >short
sed 's/"Erf"/"Unheard"/' right >unknown
{ cat right; echo '{"test": 1'; cat right; } >malformed
gzip -c right >right.gz
for _ in 1 2 3 4 5 6 7 8; do cat right; done | gzip -c | head -c 60 >cut.gz
: >empty

expect 0 '1 passed, 0 failed, 0 skipped' right
expect 0 '1 passed, 0 failed, 0 skipped' right.gz
expect 1 'FAILED t (Erf): output y differs in 1 of 2 elements, first at 1' wrong
expect 1 'expected nan' nan
expect 1 'FAILED short:1: value y has 1 elements, expected 2' short
expect 0 'skipped t (Unheard): Heed has no such operator' unknown
expect 1 'FAILED malformed:2: ' malformed
expect 1 '2 passed, 1 failed, 0 skipped' malformed
expect 2 'cut.gz' cut.gz
expect 2 'no cases in empty' empty
expect 2 'cannot open missing: No such file or directory' missing
expect 2 'Is a directory' .
expect 2 'usage: onnx_cases' --unknown
expect 0 'usage: onnx_cases' --help
exit $((faults > 0))
