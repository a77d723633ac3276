# Sourced by the tests of the program, whose first argument it is: $heed. They go on in an empty folder, which is
# removed at their end, and end with `exit $failed`.
heed=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

failed=0
fail() {
  echo "failed: $*" >&2
  failed=1
}
expect() { # what, expected, found
  [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""
}
# Runs a command that must fail with status 1 or 2 and say the text on standard error. What it says goes to out.txt
# and err.txt.
expect_failure() { # text, command...
  local text=$1 status=0
  shift
  "$@" > out.txt 2> err.txt || status=$?
  [ $status -eq 1 ] || [ $status -eq 2 ] || fail "$*: status $status"
  grep -qF -- "$text" err.txt || fail "$*: expected \"$text\", found \"$(cat err.txt)\""
}
# The same, with one line on standard error and nothing on standard output.
expect_error() { # text, command...
  expect_failure "$@"
  shift
  [ ! -s out.txt ] || fail "$*: says \"$(cat out.txt)\" on standard output"
  expect "$*: lines on standard error" 1 "$(wc -l < err.txt)"
}
