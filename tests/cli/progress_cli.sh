#!/usr/bin/env bash
# What long work shows: on a terminal of 80 columns a line that moves, fits and has colour; in a pipe plain lines, the first
# within a second.
# Usage: tests/cli/progress_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1
command -v script > /dev/null || { echo "script (util-linux) is not installed" >&2; exit 77; }

write_reversed_words 400 abcdef 2 8
write_reversed_recipe
cat > recipe.toml <<'RECIPE'
base = "reversed.toml"
[data]
valid_source = "train.src"
valid_target = "train.tgt"
test_source = "train.src"
test_target = "train.tgt"
[train]
steps = 600
log_every = 10
[validation]
every = 200
[checkpoint]
every = 250
RECIPE

# Runs a training on a terminal of 80 columns; everything that it shows goes to shown.txt.
on_terminal() { # environment and options...
  rm -rf run
  TERM=xterm script -qec "stty cols 80 && env $* $(printf %q "$heed") train recipe.toml --out run > out.txt" shown.txt \
    > /dev/null < /dev/null || fail "the training failed: $(tail -5 shown.txt)"
  sed -i '/^Script \(started\|done\)/d' shown.txt
}
# Without colours and cursor movements, each drawn line on a line of its own.
lines_shown() { sed 's/\x1b\[[0-9;]*[a-zA-Z]//g' shown.txt | tr '\r' '\n'; }

began=$(date +%s%N)
on_terminal
tenths=$((($(date +%s%N) - began) / 100000000))
longest=$(lines_shown | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }')
[ "$longest" -gt 20 ] || fail "shows next to nothing: $(lines_shown | head -20)"
[ "$longest" -le 80 ] || fail "a line of $longest columns: $(lines_shown | awk 'length($0) > 80')"
drawn=$(grep -o $'\r' shown.txt | wc -l)
[ $((5 * drawn)) -ge "$tenths" ] || fail "$drawn redraws in $tenths tenths of a second"
for phase in "reading text for the tokenizer" "training the tokenizer" "reading the data" "measuring" "validating" "testing" \
  "% step [0-9]*/600"; do
  lines_shown | grep -q "$phase" || fail "does not show $phase"
done
lines_shown | grep -q "^[-|/\\\\] \[#*\.*\] .*% step .* left " || fail "shows no bar"
grep -q $'\x1b\[32m' shown.txt || fail "has no colour"

# An error has a line of its own.
echo one line > short.tgt
TERM=xterm script -qec "$(printf %q "$heed") train recipe.toml --out failed --set 'data.target=[\"short.tgt\"]'" shown.txt \
  > /dev/null < /dev/null && fail "files of unequal length were accepted"
lines_shown | grep -q "^heed: \[pairs\]" || fail "the error is not at the beginning of a line: $(lines_shown)"

on_terminal NO_COLOR=1
! grep -q $'\x1b\[[0-9;]*m' shown.txt || fail "has colours in spite of NO_COLOR"
on_terminal TERM=dumb
! grep -q $'\x1b' shown.txt || fail "has escape sequences on a dumb terminal"

# In a pipe
rm -rf run
"$heed" train recipe.toml --out run 2>&1 > out.txt | cat > pipe.txt
! grep -q $'[\x1b\r]' pipe.txt || fail "has control characters in a pipe"
for line in "reading text for the tokenizer" "training the tokenizer" "reading the data" "measuring" "step 1 " "step 600 " \
  "step 200 validation loss" "testing"; do
  grep -q "^$line" pipe.txt || fail "no line begins with \"$line\" in a pipe"
done

# Other commands say what they do if it takes longer than half a second.
mkfifo slow
{ sleep 1.5; cat train.src; } > slow &
"$heed" tokenizer train slow --vocabulary 40 --output slow.model > out.txt 2> pipe.txt || fail "tokenizer train: $(cat pipe.txt)"
expect "one line about the input that it waits for" "reading text ..." "$(head -1 pipe.txt)"
! grep -q $'[\x1b\r]' pipe.txt || fail "tokenizer train has control characters in a pipe"

exit $failed
