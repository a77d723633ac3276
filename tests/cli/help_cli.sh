#!/usr/bin/env bash
# The help of every command: one form, at most 80 columns, nothing of the parser's own words; mistakes lead to it.
# Usage: tests/cli/help_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"

"$heed" > overview.txt
"$heed" help | cmp -s - overview.txt || fail "heed help is not what heed alone prints"
"$heed" --help | cmp -s - overview.txt || fail "heed --help is not what heed alone prints"
for group in "Train and evaluate" Text Music Images Serve Tools; do
  expect "group $group" 1 "$(grep -cx "$group:" overview.txt)"
done
[ "$("$heed" --version | wc -l)" -eq 1 ] || fail "--version"

commands=0
check_help() { # command...
  commands=$((commands + 1))
  "$heed" "$@" --help > help.txt || fail "heed $* --help"
  "$heed" help "$@" | cmp -s - help.txt || fail "heed help $* is not heed $* --help"
  grep -q "^Usage: heed $*" help.txt || fail "heed $* --help has no usage line: $(head -1 help.txt)"
  grep -q '^Examples\{0,1\}:$' help.txt || fail "heed $* --help has no example"
  ! grep -nE 'REQUIRED|:INT|UINT|:FLOAT|Excludes|Needs:|\.\.\. \.\.\.|\[default' help.txt || fail "heed $* --help has words of the parser"
  awk 'length($0) > 80' help.txt | grep . && fail "heed $* --help has lines beyond 80 columns"
  # "Translate lines of text", not "Translates"
  sed -n 3p help.txt | grep -qE '^[A-Z][a-z]+s ' && fail "heed $* --help does not begin with an imperative: $(sed -n 3p help.txt)"
  local name
  for name in $(sed -n '/^Commands:$/,/^$/s/^  \([a-z]\+\) .*/\1/p' help.txt); do
    check_help "$@" "$name"
  done
}
awk 'length($0) > 80' overview.txt | grep . && fail "the overview has lines beyond 80 columns"
for name in $(sed -n 's/^  \([a-z]\+\) .*/\1/p' overview.txt); do
  check_help "$name"
done
[ $commands -gt 35 ] || fail "only $commands commands have help"
expect_error "there is no command \"imag\"; did you mean \"image\"? (see heed help --help)" "$heed" help imag
expect_error "there is no option --versoin; did you mean --version?" "$heed" --versoin

[ $failed -eq 0 ] && echo "all is well"
exit $failed
