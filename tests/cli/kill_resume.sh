#!/usr/bin/env bash
# Kills a training at random moments, resumes it, and compares what it ends with, byte for byte, with an undisturbed run.
# Usage: tests/cli/kill_resume.sh HEED [TRIALS] [STEPS]
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
trials=${2:-20}
steps=${3:-200}
RANDOM=1706 # the same moments each time, as far as the machine goes

trap 'echo "kill_resume: line $LINENO failed" >&2' ERR
export OMP_NUM_THREADS=1

write_reversed_words 600 abcdefgh 3 6
cat > recipe.toml <<RECIPE
[data]
source = ["train.src"]
target = ["train.tgt"]
valid_source = "train.src"
valid_target = "train.tgt"
max_length = 15
batch_tokens = 512
[text]
kind = "char"
[model]
width = 32
heads = 4
hidden = 64
encoder_layers = 2
decoder_layers = 2
dropout = 0.1
[train]
steps = $steps
accumulate = 2
clip = 1.0
ema = 0.99
average = 3
log_every = 10
[schedule]
kind = "inverse_sqrt"
rate = 5e-3
warmup = 20
[validation]
every = 20
best_by = "loss"
sentences = 20
[checkpoint]
every = 5
keep = 2
RECIPE

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# What a run ends with: the hash of every tensor file, by name.
tensors() { (cd "$1" && find . -name '*.safetensors*' | sort | xargs sha256sum); }

began=$(milliseconds)
"$heed" train recipe.toml --out whole > whole.log 2>&1
duration=$(($(milliseconds) - began))
tensors whole > expected
echo "undisturbed: $duration ms, $(wc -l < expected) tensor files"
grep -q " ./checkpoint-$steps/optimizer.safetensors" expected

# Starts a run and kills it at a random moment; false if it was done before.
start_and_kill() {
  rm -rf run
  moment=$(((RANDOM * 32768 + RANDOM) % duration))
  "$heed" train recipe.toml --out run > run.log 2>&1 &
  local process=$! status=0
  sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
  kill -9 $process 2> /dev/null || true
  wait $process 2> /dev/null || status=$?
  [ $status -eq 137 ]
}

different=0
for ((trial = 1; trial <= trials; trial++)); do
  until start_and_kill; do
    duration=$moment # the machine has become faster
  done
  mkdir -p run # killed at once, it may not be there yet
  found=$(find run -maxdepth 1 -name 'checkpoint-*' | sed 's/.*-//' | sort -n | tail -1)
  "$heed" train recipe.toml --out run --resume > resume.log 2>&1 || { cat resume.log >&2; exit 1; }
  verdict=same
  if ! tensors run | cmp -s - expected; then
    verdict=different
    different=$((different + 1))
    tensors run | diff expected - >&2 || true
  fi
  echo "trial $trial: killed after $moment ms, resumed from step ${found:-0}: $verdict"
done
echo "$trials kills, $different ended with other bytes"
[ $different -eq 0 ]
