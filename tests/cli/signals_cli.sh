#!/usr/bin/env bash
# Sends SIGINT, SIGTERM and SIGHUP in turn to a training, at the beginning of each of its phases and at random moments. Each
# ends it soon; the command that it then prints goes on; and what it ends with is, byte for byte, that of an undisturbed run.
# Usage: tests/cli/signals_cli.sh HEED [SIGNALS]
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
signals=${2:-20}
most=5000   # milliseconds until the program has ended; on a quiet machine it takes less than 2000
RANDOM=1848 # the same moments each time, as far as the machine goes

trap 'echo "signals_cli: line $LINENO failed" >&2' ERR
export OMP_NUM_THREADS=1

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; } # milliseconds

# Sentences of random words, which take a vocabulary's training a while, and the same sentences backwards.
awk 'BEGIN {
  srand(1)
  for (i = 0; i < 2000; i++)
    for (left = 2 + int(rand() * 7); left > 0; left--) words[i] = words[i] sprintf("%c", 97 + int(rand() * 26))
  for (i = 0; i < 6000; i++) {
    text = reversed = ""
    for (left = 2 + int(rand() * 6); left > 0; left--) {
      word = words[int(rand() * rand() * 2000)]
      text = text word " "
      reversed = word " " reversed
    }
    print text > "train.src"
    print reversed > "train.tgt"
  }
}'
head -150 train.src > valid.src
head -150 train.tgt > valid.tgt
cat > recipe.toml <<'RECIPE'
[data]
source = ["train.src"]
target = ["train.tgt"]
valid_source = "valid.src"
valid_target = "valid.tgt"
test_source = "valid.src"
test_target = "valid.tgt"
max_length = 40
batch_tokens = 1024
[text]
vocabulary = 1000
[model]
width = 64
heads = 4
hidden = 128
encoder_layers = 2
decoder_layers = 2
dropout = 0.1
[train]
steps = 60
accumulate = 2
ema = 0.99
average = 2
log_every = 1
[schedule]
kind = "inverse_sqrt"
rate = 5e-3
warmup = 20
[validation]
every = 15
best_by = "loss"
sentences = 40
[checkpoint]
every = 20
keep = 2
RECIPE
settings=(--set 'train.most_skips=9' --set 'validation.patience=99') # are part of the command that goes on

# What a run ends with: the hash of every tensor file, by name.
tensors() { (cd "$1" && find . -name '*.safetensors*' | sort | xargs sha256sum); }

began=$(milliseconds)
"$heed" train recipe.toml --out whole "${settings[@]}" > whole.txt 2> whole.log
duration=$(($(milliseconds) - began))
tensors whole > expected
expect "files left in the folder" "" "$(find whole -name '.*' -type f)"
grep -q "^test valid.src: " whole.txt || fail "there is no test at the end"
echo "undisturbed: $duration ms, $(wc -l < expected) tensor files"

slowest=0
# Waits until the training has ended after a signal; false if it had ended before.
ends_soon() { # phase, signal, process
  local status=0 sent took
  sent=$(milliseconds)
  kill -"$2" "$3" 2> /dev/null || true
  wait "$3" || status=$?
  took=$(($(milliseconds) - sent))
  [ $status -ne 0 ] || return 1
  expect "status after SIG$2 ($1)" 130 $status
  [ $took -le $most ] || fail "SIG$2 ($1): ended after $took ms"
  [ $took -le $slowest ] || slowest=$took
  echo "SIG$2 ($1): ended after $took ms: $(tail -1 run.log)"
}
# Starts or continues the run in the background: $process.
start() {
  rm -f run.txt run.log
  eval "exec \"\$heed\" $command" > run.txt 2> run.log &
  process=$!
}
wait_for() { # file, text
  while kill -0 $process 2> /dev/null && ! grep -qs "$2" "$1"; do
    sleep 0.02
  done
}
first="train recipe.toml --out run ${settings[*]}"
begin_anew() {
  rm -rf run run.log run.txt # else wait_for finds what the run before said
  command=$first
}
finished=0
compare() {
  tensors run | cmp -s - expected || { fail "ended with other bytes"; tensors run | diff expected - >&2 || true; }
  finished=$((finished + 1))
}
# After a signal the next command is the one that the program printed. After the end there is a new run.
go_on() {
  command=$(sed -n 's/.*; continue with: heed //p' run.log)
  expect "the command that goes on" "train recipe.toml --out run ${settings[*]} --resume" "$command"
}

names=(INT TERM HUP)
sent=0
next_signal() { signal=${names[$((sent++ % 3))]}; }
begin_anew
for phase in "training the tokenizer" "step 7 " "reading text" "measuring" "reading the data" "step 29 "; do
  [ $sent -lt $(((signals + 1) / 2)) ] || break
  case $phase in "reading text" | "training the"*) begin_anew ;; esac # a resumed run has a tokenizer
  next_signal
  start
  wait_for run.log "$phase"
  if ends_soon "$phase" $signal $process; then
    [ -e run/recipe.json ] || expect "folder before the first step" "" "$(find run 2> /dev/null || true)"
    go_on
  else
    compare
    begin_anew
  fi
done
while [ $sent -lt $((signals - 1)) ]; do
  moment=$(((RANDOM * 32768 + RANDOM) % duration))
  next_signal
  start
  pause $moment
  if ends_soon "after $moment ms" $signal $process; then
    go_on
  else
    compare
    begin_anew
  fi
done

# The test at the end of a finished run, which the command that goes on repeats.
next_signal
start
wait_for run.txt "^finished"
if ends_soon "test" $signal $process; then
  grep -q "interrupted in the test" run.log || fail "the test is not named: $(tail -1 run.log)"
  go_on
  eval "\"\$heed\" $command" > run.txt 2> run.log
fi
grep -q "^test valid.src: " run.txt || fail "the test was not made again"
expect "the test's result" "$(grep ^test whole.txt)" "$(grep ^test run.txt)"
compare
expect "files left in the folder" "" "$(find run -name '.*' -type f)"

# Two signals, of whatever kinds, end the program before it has saved.
begin_anew
start
wait_for run.log "step 3 "
kill -STOP $process
kill -HUP $process
kill -TERM $process
kill -CONT $process
status=0
wait $process || status=$?
expect "status after two signals" 130 $status
! grep -q "stopped after" run.log || fail "after two signals it still saved"

# A hang-up that is ignored, as nohup does, stays ignored.
begin_anew
(trap '' HUP && exec "$heed" $command --set train.steps=100000) > run.txt 2> run.log &
process=$!
wait_for run.log "step 3 "
kill -HUP $process
sleep 0.5
kill -0 $process || fail "nohup does not help"
ends_soon "after nohup" INT $process || fail "it ended by itself"

# Pipes that nobody writes to, as data of a training and as text to translate.
mkfifo pipe
rm run.log
"$heed" train recipe.toml --out piped --set 'data.source=["pipe"]' > run.txt 2> run.log &
process=$!
wait_for run.log "reading text"
ends_soon "reading a pipe" TERM $process || fail "the pipe had an end"
[ ! -e piped ] || fail "a start that was interrupted left $(find piped)"
"$heed" translate --model whole pipe > run.txt 2> run.log &
process=$!
sleep 0.5
status=0
kill -TERM $process
wait $process || status=$?
expect "status of translate after SIGTERM" 143 $status

echo "$sent signals to trainings, $finished of them compared at their end; the slowest took $slowest ms"
exit $failed
