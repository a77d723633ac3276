#!/usr/bin/env bash
# Processes that mpirun starts share the lines of a file: they print what one process prints, and when one of them dies
# or hangs, all end and leave no file.
# Usage: tests/cli/mesh_lines_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
command -v mpirun > /dev/null || { echo "mpirun is not installed" >&2; exit 77; }
[ -e "$(dirname "$heed")/heed_mpi.so" ] || { echo "heed_mpi.so was not built" >&2; exit 77; }
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun=(mpirun --oversubscribe --bind-to none)
together() { # processes, arguments...
  "${mpirun[@]}" -n "$1" "$heed" "${@:2}"
}

# --- tiny models
write_reversed_words 300 abcdef 2 3
write_reversed_recipe
train_tiny reversed.toml pairs --set train.steps=120
write_sentences
write_text_recipes 16 24
for ((i = 0; i < 20; i++)); do
  printf 'the cat\tcat\na bird saw the dog\tdog\nthe dog\tdog\nthe cat saw a bird\tcat\n'
done > labels.tsv
cat > classes.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["labels.tsv"]
RECIPE
printf 'base = "language.toml"\n[data]\nmax_length = 16\n[model]\nkind = "transformer_xl"\nmemory = 16\nwidth = 16\nheads = 2\nlayers = 1\n' \
  > segments.toml
for ((i = 0; i < 20; i++)); do
  printf '1 Mary went to the garden.\n2 John went to the kitchen.\n3 Where is Mary?\tgarden\t1\n4 Where is John?\tkitchen\t2\n'
done > stories.txt
cat > stories.toml <<'RECIPE'
task = "questions"
[data]
stories = ["stories.txt"]
valid_share = 0.2
batch_tokens = 128
[model]
kind = "memory_network"
width = 16
[train]
steps = 2
precision = "f32"
RECIPE
for name in classes language segments stories; do train_tiny $name.toml $name; done

# --- the same bytes, in the same order. 1,300 lines are two rounds of two processes and one of three; two lines are fewer
# than processes. One line is no UTF-8, one is too long for the model, and some are empty.
awk 'NR % 50 == 7 {print ""} {print}' train.src train.src train.src train.src train.src | sed -n 1,1297p > many.txt
{ printf 'a\xffb\n'; for ((i = 0; i < 400; i++)); do printf 'abcdef'; done; printf '\nabc'; } >> many.txt
gzip -c many.txt > many.gz
head -2 many.txt > two.txt
: > none.txt
seq 1 1300 | tr 0-9 abcdefabcd > prefixes.txt
compare() { # numbers of processes, what is compared, arguments...
  local processes
  "$heed" "${@:3}" > alone.txt 2> alone.err || fail "$2: $(cat alone.err)"
  for processes in $1; do
    together "$processes" "${@:3}" > together.txt 2> together.err || fail "$2 of $processes processes: $(cat together.err)"
    cmp -s alone.txt together.txt || fail "$2 of $processes processes are others"
    cmp -s <(grep '^heed:' alone.err | sort) <(grep '^heed:' together.err | sort) ||
      fail "$2: $processes processes say \"$(cat together.err)\", and one \"$(cat alone.err)\""
  done
}
compare "2 3" "translations" translate --model pairs --beam 1 many.txt
cp alone.txt translations.txt
expect "warnings of lines" "line 1298 line 1299" "$(grep -oE 'line [0-9]+' together.err | sort -u | paste -sd' ')"
compare "2 3" "classes" classify --model classes --probabilities many.txt
compare "2 3" "vectors" embed --model classes --normalize many.txt
compare "2 3" "figures of a text" eval --model language --stride 12 --batch-tokens 96 text.txt
compare 3 "wrong answers about stories" eval --model stories --batch-tokens 32 stories.txt
compare 3 "translations of packed lines with scores and prefixes" \
  translate --model pairs --beam 1 --scores --prefix-file prefixes.txt many.gz
compare 3 "n-best lists of two lines" translate --model pairs --n-best 2 two.txt
compare 3 "translations of no lines" translate --model pairs none.txt

# --- files
"$heed" embed --model classes --output alone.npy two.txt
"$heed" classify --model classes --output alone.txt many.txt
together 3 embed --model classes --output together.npy two.txt
cmp -s alone.npy together.npy || fail "three processes write another NumPy file"
together 2 classify --model classes --output together.txt many.txt
cmp -s alone.txt together.txt || fail "two processes write another file"
"$heed" translate --model pairs --beam 1 --output written.txt many.txt > printed.txt 2> /dev/null
cmp -s written.txt translations.txt || fail "a file has other translations than standard output"
expect "printed beside a file" "" "$(cat printed.txt)"

# --- a process that dies, and one that hangs: all end soon with an error, and no file is there, nor a part of one
for ((i = 0; i < 200; i++)); do cat many.txt; done > endless.txt
expect_end() { # signal, the process that gets it, what is said
  local status=0 i victim
  "${mpirun[@]}" -n 3 "$heed" translate --model pairs --deadline 2 --output dead.txt endless.txt > out.txt 2> err.txt &
  local running=$!
  for ((i = 0; i < 200; i++)); do # until results are on their way
    [ -z "$(find . -name 'dead.txt.tmp*' -size +0)" ] || break
    sleep 0.05
  done
  victim=$(for each in $(pgrep -P $running); do # the processes that this mpirun has started
    ! grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$each/environ" || echo "$each"
  done)
  kill "-$1" "$victim"
  for ((i = 0; i < 300; i++)); do
    kill -0 $running 2> /dev/null || break
    sleep 0.1
  done
  ! kill -0 $running 2> /dev/null || { fail "SIG$1: still running after 30 s"; kill $running; }
  wait $running || status=$?
  [ $status -ne 0 ] || fail "SIG$1: status 0"
  grep -qE "$3" err.txt || fail "SIG$1: says $(cat err.txt)"
  expect "SIG$1: standard output" "" "$(cat out.txt)"
}
expect_end KILL 1 'process rank 1 .* exited on signal 9'
# mpirun kills the others a moment later: what the first one has begun may stay under its temporary name.
[ ! -e dead.txt ] || fail "the output of a run with a killed process is there"
rm -f dead.txt.tmp*
expect_end STOP 2 'process 0 has waited 2 s for process 2, which does not answer'
expect "files after a process hung" "" "$(ls | grep '^dead' || true)"
expect_end KILL 0 'process rank 0 .* exited on signal 9'
[ ! -e dead.txt ] || fail "the first process was killed, and its file is there"

# --- what processes cannot share is said, once
expect_refusal() { # text, arguments...
  local status=0
  together 2 "${@:2}" < /dev/null > out.txt 2> err.txt || status=$?
  [ $status -ne 0 ] || fail "${*:2}: status 0"
  expect "${*:2}: errors" 1 "$(grep -c '^heed: ' err.txt)"
  grep -qF "$1" err.txt || fail "${*:2}: says $(cat err.txt)"
}
expect_refusal "can share the work of heed train, translate, classify, embed, eval, but not that of heed generate" \
  generate --model language --prompt a
expect_refusal "2 processes cannot share standard input: give a file" translate --model pairs
expect_refusal "cannot open no-such-file" translate --model pairs no-such-file
expect_refusal "no-such-folder is not a folder" eval --model no-such-folder text.txt
expect_refusal "2 processes cannot share: start one alone, or give --length" eval --model segments text.txt
compare 2 "figures of windows of a model with memory" eval --model segments --length 16 --batch-tokens 64 text.txt

[ $failed -eq 0 ] && echo "all is well"
exit $failed
