#!/usr/bin/env bash
# What `heed plan` predicts beside what happens: six meshes train on this machine, one thread for each process, and the
# time of a step and the peak memory (VmHWM) of the processes stand beside the prediction.
#
# usage: bench/plan.sh [--json] [--steps N] [--skip N] [--recipe FILE]
#
# The recipe is recipes/translation/multi30k.toml with train.accumulate = 4; HEED_DATA points to its data. Validation and
# test are left out, and all meshes share one tokenizer. The first steps (--skip) are not timed. `filled` is the share of
# the planned tokens that the batches really have: sentences do not fill them.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/support.sh

option=([steps]=30 [skip]=5 [recipe]=recipes/translation/multi30k.toml)
parse_options "$@"
find_heed
for name in steps skip; do
  [[ ${option[$name]} =~ ^[1-9][0-9]*$ ]] || die 2 "--$name ${option[$name]} is no positive number"
done
[ "${option[steps]}" -gt "${option[skip]}" ] || die 2 "--steps ${option[steps]} has to be more than --skip ${option[skip]}"
command -v mpirun > /dev/null || die 1 "there is no mpirun; run: tools/install-deps.sh mpi"
export OMP_NUM_THREADS=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

settings=()
for setting in train.accumulate=4 data.valid_source= data.valid_target= data.test_source= data.test_target= \
  checkpoint.every=0 train.log_every=1; do
  settings+=(--set "$setting")
done

# The tokenizer of all runs.
"$heed" train "${option[recipe]}" --out "$folder/tokenizer" "${settings[@]}" --set train.steps=1 > "$folder/log" 2>&1 ||
  die 1 "the training of the tokenizer failed: $(tail -1 "$folder/log")"
settings+=(--set "text.folder=$folder/tokenizer" --set "train.steps=${option[steps]}")

# Runs a command and leaves the largest VmHWM that it had, in KiB, in a file of its own.
cat > "$folder/watch" <<'WATCH'
#!/usr/bin/env bash
peaks=$1
shift
"$@" &
child=$!
peak=0
while kill -0 $child 2> /dev/null; do
  now=$(awk '/^VmHWM/ {print $2}' /proc/$child/status 2> /dev/null) || true
  peak=${now:-$peak}
  sleep 0.05
done
wait $child
status=$?
echo "$peak" > "$peaks/$child"
exit $status
WATCH
chmod +x "$folder/watch"

seconds_at() { # log, step
  line=$(grep "\"step\":$2,.*\"loss\"" "$1" | head -1)
  field seconds
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

$json || printf '%-24s %9s %9s %6s %7s %10s %10s %6s\n' mesh planned measured ratio filled planned measured ratio
$json || printf '%-24s %9s %9s %6s %7s %10s %10s %6s\n' "" s s "" "" MiB MiB ""
for mesh in batch:1 batch:2 batch:4 batch:2,model:2 model:2 batch:2+sharded; do
  axes=${mesh%+*}
  sharded=$([ "$axes" = "$mesh" ] && echo false || echo true)
  processes=$(($(sed 's/[a-z]*:\([0-9]*\)/\1/g; s/,/*/g' <<< "$axes")))
  run="$folder/$mesh"
  mkdir -p "$run.peaks"
  mpirun --oversubscribe --allow-run-as-root -n "$processes" "$folder/watch" "$run.peaks" "$heed" train \
    "${option[recipe]}" --out "$run" --mesh "$axes" "${settings[@]}" --set "mesh.sharded=$sharded" > "$run.out" 2>&1 ||
    die 1 "the training on $mesh failed: $(tail -1 "$run.out")"
  peak=$(sort -n "$run.peaks"/* | tail -1)
  begin=$(seconds_at "$run/log.jsonl" "${option[skip]}")
  end=$(seconds_at "$run/log.jsonl" "${option[steps]}")
  measured=$(awk -v a="$begin" -v b="$end" -v n=$((option[steps] - option[skip])) 'BEGIN {print (b - a) / n}')
  tokens=$(awk -v skip="${option[skip]}" -F'[:,]' '/"tokens_per_second"/ {
    for (i = 1; i < NF; i++) {
      if ($i ~ /"step"/) step = $(i + 1)
      if ($i ~ /"tokens_per_second"/) rate = $(i + 1)
      if ($i ~ /"seconds"/) { gsub("}", "", $(i + 1)); now = $(i + 1) }
    }
    if (step > skip) { sum += rate * (now - before); n++ }
    before = now
  } END {print sum / n}' "$run/log.jsonl")
  line=$("$heed" plan "${option[recipe]}" --mesh "$axes" --cores "$(nproc)" "${settings[@]}" \
    --set "mesh.sharded=$sharded" --json)
  planned=$(field step_seconds)
  bytes=$(field process_bytes)
  filled=$(ratio "$tokens" "$(field step_tokens)")
  if $json; then
    printf '{"mesh":"%s","planned_seconds":%s,"seconds":%s,"filled":%s,"planned_bytes":%s,"bytes":%s}\n' \
      "$mesh" "$planned" "$measured" "$filled" "$bytes" $((peak * 1024))
  else
    printf '%-24s %9.3f %9.3f %6s %7s %10.0f %10.0f %6s\n' "$mesh" "$planned" "$measured" \
      "$(ratio "$planned" "$measured")" "$filled" $((bytes >> 20)) $((peak >> 10)) \
      "$(ratio $((bytes >> 10)) "$peak")"
  fi
done
