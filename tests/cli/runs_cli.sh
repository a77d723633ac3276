#!/usr/bin/env bash
# Runs and models are not lost: what refuses to overwrite them, what may, and what failed starts leave.
# Usage: tests/cli/runs_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

write_reversed_words 300 abcdef 2 3
write_reversed_recipe
printf 'base = "reversed.toml"\n[train]\nsteps = 30\n[checkpoint]\nevery = 10\n' > recipe.toml
train_tiny recipe.toml run
train_tiny recipe.toml other --set model.width=16 --set train.steps=1
hash_of() { (cd "$1" && find . -type f | sort | xargs sha256sum); }
hash_of run > before

# convert and average write over no run, no model and no file of others
expect_error "run holds a training run; give another folder, or replace it with --force" "$heed" convert other --output run
expect_error "run holds a training run" "$heed" average other --output run
"$heed" convert other --output model > /dev/null
expect_error "model holds another model" "$heed" convert run --output model
expect_error "is a file, expected a folder" "$heed" convert run --output recipe.toml
mkdir -p mine && echo text > mine/notes.txt
expect_error "mine holds notes.txt" "$heed" convert run --output mine
expect_error "mine holds notes.txt, which is part of no model" "$heed" convert run --output mine --force
hash_of run | cmp -s - before || fail "a refused command changed the run"
expect "the notes" text "$(cat mine/notes.txt)"
mkdir empty
"$heed" convert run --output empty > /dev/null
"$heed" convert run --output model --force > /dev/null
cmp -s empty/model.safetensors model/model.safetensors || fail "convert --force wrote another model"
cp -r run copy
"$heed" average other --output copy --force > /dev/null
expect "what replaces a run" "config.json model.safetensors vocabulary.json" "$(ls -A copy | xargs)"
expect "left beside the folders" "" "$(find . -name '.unfinished*' -o -name '*.tmp*')"

# train: neither over a model nor over a run; --force begins anew and leaves the files of others
expect_error "model holds another model: give another --out" "$heed" train recipe.toml --out model
expect_error "holds a run already" "$heed" train recipe.toml --out run
expect_error "give one of them" "$heed" train recipe.toml --out run --force --resume
expect_error "was begun with model.width = 32, and the recipe now has 16;" \
  "$heed" train recipe.toml --out run --resume --set model.width=16
hash_of run | cmp -s - before || fail "a refused training changed the run"
echo mine > run/notes.txt
expect_failure "expected a multiple of 4 heads" "$heed" train recipe.toml --out run --force --set model.width=30
rm run/notes.txt
hash_of run | cmp -s - before || fail "a forced start that failed changed the run"
echo mine > run/notes.txt
train_tiny recipe.toml run --force --set model.width=16 --set train.steps=5
expect "checkpoints of the new run" checkpoint-5 "$(cd run && ls -d checkpoint-*)"
expect "files of others" mine "$(cat run/notes.txt)"
[ ! -e run/.lock ] || fail "the lock is still there"

# A start that fails leaves nothing, and --check finds what it fails by
expect_error "width is 30, expected a multiple of 4 heads" "$heed" train recipe.toml --check --set model.width=30
expect_error "width is 30, expected a multiple of 4 heads" "$heed" train recipe.toml --out new/run --set model.width=30
expect_error "a pair of max_length 31 needs 32" "$heed" train recipe.toml --check --set data.batch_tokens=16
echo one line > short.tgt
expect_failure "short.tgt has 1" "$heed" train recipe.toml --out new/run --set 'data.target=["short.tgt"]'
[ ! -e new ] || fail "a start that failed left $(find new)"
expect_error "data.target names none.tgt, which does not exist" \
  "$heed" train recipe.toml --out new/run --set 'data.target=["none.tgt"]'

# Two at once: the second is refused with the number of the first; after kill -9 the folder is free
"$heed" train recipe.toml --out busy --set train.steps=1000000 --set checkpoint.every=0 > /dev/null 2> busy.log &
process=$!
until grep -qs "^step 1 " busy.log; do
  sleep 0.05
done
for option in "" --resume --force; do
  # shellcheck disable=SC2086
  expect_error "busy is in use by process $process;" "$heed" train recipe.toml --out busy $option
done
expect_error "busy is in use by process $process;" "$heed" convert other --output busy --force
kill -9 $process
wait $process 2> /dev/null || true
train_tiny recipe.toml busy --resume --set checkpoint.every=0 --set train.steps=40
expect "steps after the resume" 40 "$(sed -n 's/.*"step": \([0-9]*\),/\1/p' busy/checkpoint-40/state.json)"

# Other outputs that are not replaced by accident
"$heed" tokenizer train train.src --kind char --output chars.json > /dev/null
expect_error "chars.json exists already" "$heed" tokenizer train train.src --kind char --output chars.json
"$heed" tokenizer train train.src --kind char --output chars.json --force > /dev/null
mkdir corpus && echo mine > corpus/train.en
expect_error "corpus/train.en exists already" "$heed" corpus demo --out corpus --train 10
expect "the corpus that was there" mine "$(cat corpus/train.en)"
"$heed" corpus demo --out corpus --train 10 --force > /dev/null
expect "lines of the demo corpus" 10 "$(wc -l < corpus/train.en)"

# Endless and other files that are no files
mkfifo pipe
for file in pipe /dev/zero .; do
  expect_error "expected a regular file" "$heed" train "$file"
done
mkdir odd && mkfifo odd/config.json
expect_error "config.json is a pipe, expected a regular file" "$heed" info odd
rm odd/config.json && cp model/config.json model/vocabulary.json odd && mkfifo odd/model.safetensors
expect_error "model.safetensors is a pipe, expected a regular file" "$heed" info odd
expect_failure "/dev/zero is a device, expected a file" \
  "$heed" train recipe.toml --out new/run --set 'data.source=["/dev/zero"]'
truncate -s 1G huge.toml
expect_error "huge.toml has more than" "$heed" train huge.toml

exit $failed
