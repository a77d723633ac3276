#!/usr/bin/env bash
# Trainings by several processes under mpirun: the same steps as by one, killed and hanging processes, processes that
# differ, and a program that does not load MPI when it is started alone.
# Usage: tests/cli/mesh_cli.sh HEED [TRIALS]
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
trials=${2:-2}
RANDOM=1811

if ! command -v mpirun > /dev/null || [ ! -e "$(dirname "$heed")/heed_mpi.so" ]; then
  echo "skipped: there is no MPI (tools/install-deps.sh mpi)"
  exit 77
fi
trap 'echo "mesh_cli: line $LINENO failed" >&2' ERR
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() { # processes, arguments of heed...
  local processes=$1
  shift
  mpirun --oversubscribe --bind-to none -n "$processes" "$heed" "$@"
}

write_reversed_words 600 abcdefgh 3 6
cat > recipe.toml <<RECIPE
[data]
source = ["train.src"]
target = ["train.tgt"]
valid_source = "train.src"
valid_target = "train.tgt"
max_length = 15
batch_tokens = 256
[text]
kind = "char"
[model]
width = 32
heads = 4
hidden = 64
encoder_layers = 1
decoder_layers = 1
dropout = 0.1
attention_dropout = 0.0 # inside of what is split, each process drops its own
hidden_dropout = 0.0
[train]
steps = 40
accumulate = 4
precision = "f32"
log_every = 1
[optimizer]
kind = "sgd"
[schedule]
kind = "constant"
rate = 0.05
warmup = 0
[validation]
every = 20
best_by = "loss"
sentences = 20
[checkpoint]
every = 5
keep = 2
RECIPE

losses() { grep -o '"loss":[^,]*' "$1/log.jsonl" | cut -d: -f2; }
tensors() { (cd "$1" && find . -name '*.safetensors*' | sort | xargs sha256sum); }
agree() { # run, run: losses to 1e-5
  paste <(losses "$1") <(losses "$2") | awk '{ d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > 1e-5) bad = 1 }
    END { exit bad || NR < 40 }'
}

# One process, two, and four in both directions.
"$heed" train recipe.toml --out one > one.log 2>&1
run 2 train recipe.toml --out two > two.log 2>&1
grep -q "hidden behind the backward pass" two.log || fail "nothing is said about the exchange: $(tail -3 two.log)"
run 4 train recipe.toml --out four --mesh batch:2,model:2 --set mesh.sharded=true > four.log 2>&1
agree one two || fail "two processes make other steps than one"
agree one four || fail "four processes make other steps than one"

# The same again is the same; what one mesh began, one process goes on with.
run 2 train recipe.toml --out again > /dev/null 2>&1
[ "$(tensors two)" = "$(tensors again)" ] || fail "two processes do not give the same bits twice"
run 4 train recipe.toml --out other --mesh batch:2,model:2 --set train.steps=20 > /dev/null 2>&1
"$heed" train recipe.toml --out other --resume > other.log 2>&1 || fail "one process does not go on: $(cat other.log)"
agree one other || fail "a run that changes its mesh makes other steps"

# A process that is killed ends the run; resumed, it ends with the same bytes. A run that is over before counts for
# nothing.
kills=0
for ((trial = 0; kills < trials && trial < 4 * trials; trial++)); do
  rm -rf killed
  run 2 train recipe.toml --out killed > killed.log 2>&1 &
  job=$!
  for ((i = 0; i < 100; i++)); do
    [ -d killed/checkpoint-5 ] || [ -d killed/checkpoint-10 ] && break
    sleep 0.05
  done
  sleep "0.0$((RANDOM % 10))"
  mapfile -t processes < <(pgrep -f "heed train recipe.toml --out killed" | while read -r pid; do
    [ "$(readlink "/proc/$pid/exe")" = "$heed" ] && echo "$pid"; done)
  if [ ${#processes[@]} -gt 0 ]; then
    kill -9 "${processes[RANDOM % ${#processes[@]}]}" 2> /dev/null || true
  fi
  began=$SECONDS
  wait $job && continue
  kills=$((kills + 1))
  [ $((SECONDS - began)) -lt 20 ] || fail "the run outlives a killed process by $((SECONDS - began)) s"
  run 2 train recipe.toml --out killed --resume > resumed.log 2>&1 || fail "not resumed: $(tail -3 resumed.log)"
  [ "$(tensors two)" = "$(tensors killed)" ] || fail "trial $trial: other bytes after a killed process"
done
echo "$kills runs were killed in $trial attempts"
[ $kills -eq "$trials" ] || fail "$kills runs were killed, expected $trials"

# A process that hangs is named within the deadline.
run 2 train recipe.toml --out hangs --set mesh.deadline=2 --set train.steps=100000 > hangs.log 2>&1 &
job=$!
for ((i = 0; i < 100; i++)); do
  [ -d hangs/checkpoint-5 ] && break
  sleep 0.05
done
last=$(pgrep -f "heed train recipe.toml --out hangs" | while read -r pid; do
  [ "$(readlink "/proc/$pid/exe")" = "$heed" ] && grep -zq '^OMPI_COMM_WORLD_RANK=1$' "/proc/$pid/environ" && echo "$pid"
done | head -1)
kill -STOP "$last"
began=$SECONDS
wait $job && fail "a run with a process that hangs ends well"
[ $((SECONDS - began)) -lt 20 ] || fail "the run waits $((SECONDS - began)) s for a process that hangs"
kill -9 "$last" 2> /dev/null || true
grep -q "process 0 has waited 2 s for process 1" hangs.log || fail "it is not named: $(tail -3 hangs.log)"

# Processes that differ, and meshes that do not fit.
expect_failure "has 3 processes, and 2 were started" run 2 train recipe.toml --out no --mesh batch:3
expect_failure "started alone" "$heed" train recipe.toml --out no --mesh batch:2
expect_failure "a step has 4 batches" run 3 train recipe.toml --out no
echo 'OMP_NUM_THREADS=$((OMPI_COMM_WORLD_RANK + 1)) exec "$@"' > differ.sh
expect_failure "the number of threads of process 1 is 2, and that of process 0 is 1" \
  mpirun --oversubscribe -n 2 bash differ.sh "$heed" train recipe.toml --out no

# Alone, the program knows nothing of MPI.
ldd "$heed" | grep -q libmpi && fail "the program is linked with MPI"
exit $failed
