#!/usr/bin/env bash
# The program from end to end: trains a tiny model on reversed words, then does with it what users do.
# Usage: tests/cli/translate_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

write_reversed_words 400 abcdef 2 3
write_reversed_recipe
cat > recipe.toml <<'RECIPE'
base = "reversed.toml"
[train]
steps = 250
[checkpoint]
every = 100
RECIPE

# train
"$heed" train recipe.toml --check | grep -q "recipe.toml is a valid recipe" || fail "train --check"
"$heed" train recipe.toml --out run > train.txt 2> progress.txt || { cat progress.txt >&2; exit 1; }
grep -q "^finished after 250 steps" train.txt || fail "train says $(cat train.txt)"
grep -q "^step 250 .*loss" progress.txt || fail "no progress of step 250"
expect_error "holds a run already" "$heed" train recipe.toml --out run
expect_error "was begun with model.width = 32, and the recipe now has 64" "$heed" train recipe.toml --out run --resume --set model.width=64
expect_error "did you mean train.steps?" "$heed" train recipe.toml --set train.step=3
expect_error "did you mean model.encoder_layers?" "$heed" train recipe.toml --set model.layers=3
expect_error "no.toml" "$heed" train no.toml
"$heed" train --keys translate > keys.txt
grep -q "train.label_smoothing" keys.txt || fail "train --keys"

# translate: as many lines, in their order, empty ones stay empty; the model has learned something
head -50 train.src > input.txt
"$heed" translate --model run input.txt > output.txt
head -50 train.tgt > wanted.txt
right=$(paste -d' ' output.txt wanted.txt | awk '$1 == $2' | wc -l)
[ "$right" -ge 40 ] || fail "translates only $right of 50 words"
expect "lines" 50 "$(wc -l < output.txt)"
printf 'ab\n\nfed\n   \nab' | "$heed" translate --model run > stdin.txt
expect "lines of standard input" 5 "$(wc -l < stdin.txt)"
expect "empty line" "" "$(sed -n 2p stdin.txt)"
expect "blank line" "" "$(sed -n 4p stdin.txt)"
expect "the same line again" "$(sed -n 1p stdin.txt)" "$(sed -n 5p stdin.txt)"
expect "no lines" "" "$(printf '' | "$heed" translate --model run)"
gzip -c input.txt > input.gz
"$heed" translate --model run input.gz | cmp -s - output.txt || fail "gzip gives another translation"
for options in "--batch-tokens 1" "--batch-tokens 37"; do
  # shellcheck disable=SC2086
  "$heed" translate --model run $options input.txt | cmp -s - output.txt || fail "$options gives another translation"
done
expect "prefix" "cc" "$(echo abc | "$heed" translate --model run --prefix cc | cut -c1-2)"
expect "suppressed" 0 "$(echo abc | "$heed" translate --model run --suppress c | grep -c c)"

# many sentences on a line: each is translated as it is alone, and none is lost
head -60 train.src | sed 's/$/./' > sentences.txt
"$heed" translate --model run sentences.txt > one-by-one.txt
paste -sd' ' sentences.txt | "$heed" translate --model run > paragraph.txt 2> warnings.txt
expect "60 sentences on a line" "$(paste -sd' ' one-by-one.txt)" "$(cat paragraph.txt)"
expect "warnings" "" "$(cat warnings.txt)"
grep -q '"most_sentences": 1' run/config.json || fail "config.json does not say what the training's lines were like"

# a translation that is far too short is reported with its line and both lengths
sed 's/"least_ratio": [0-9.]*/"least_ratio": 50/' run/config.json > config.json
cp -r run strict && cp config.json strict/
printf 'ab\nfed\n' | "$heed" translate --model strict > strict.txt 2> warnings.txt
expect "lines with warnings" 2 "$(wc -l < strict.txt)"
grep -qE '^heed: line 2: 3 tokens became only [0-9]+; the translation probably lacks something' warnings.txt ||
  fail "of a short translation it says $(cat warnings.txt)"

# answers come line by line, and a signal ends the waiting
expect_answer_at_once abc "$heed" translate --model run
expect_answer_at_once abc "$heed" tokenizer encode --tokenizer run
mkfifo pipe
exec 7<> pipe
"$heed" translate --model run < pipe > piped.txt &
translating=$!
echo abc >&7
for ((i = 0; i < 300; i++)); do
  [ -s piped.txt ] && break
  sleep 0.1
done
kill -TERM $translating
for ((i = 0; i < 100; i++)); do
  kill -0 $translating 2> /dev/null || break
  sleep 0.1
done
! kill -0 $translating 2> /dev/null || fail "SIGTERM does not end a translation that waits for input"
exec 7>&-
kill -KILL $translating 2> /dev/null || true
wait $translating || true
expect "the answer before the signal" "$(sed -n 1p <(echo abc | "$heed" translate --model run))" "$(cat piped.txt)"

# --n-best: "line ||| text ||| score", best first
printf 'abc\nfed\n' | "$heed" translate --model run --n-best 3 > nbest.txt
expect "n-best lines" "1 1 1 2 2 2" "$(awk -F' [|][|][|] ' '{printf sep $1; sep = " "}' nbest.txt)"
awk -F' [|][|][|] ' 'NF != 3 || $3 !~ /^-?[0-9]+\.[0-9]+$/ {exit 1}
  NR > 1 && $1 == line && $3 > score {exit 1} {line = $1; score = $3}' nbest.txt || fail "n-best is $(cat nbest.txt)"
expect "best of n-best" "$(echo abc | "$heed" translate --model run)" "$(awk -F' [|][|][|] ' 'NR == 1 {print $2}' nbest.txt)"

# --scores: "score TAB text"
echo abc | "$heed" translate --model run --scores > scores.txt
grep -qP '^-?[0-9]+\.[0-9]{6}\t[a-f]+$' scores.txt || fail "--scores gives $(cat scores.txt)"
expect "text of --scores" "$(echo abc | "$heed" translate --model run)" "$(cut -f2 scores.txt)"

# what is wrong is said in one line
expect_error "no-such-folder is not a folder" "$heed" translate --model no-such-folder input.txt
mkdir empty
expect_error "has no config.json" "$heed" translate --model empty input.txt
expect_error "no-such-file" "$heed" translate --model run no-such-file
expect_error "--model is required" "$heed" translate
expect_error "--beam is 0, expected a whole number from 1 to 256 (see heed translate --help)" "$heed" translate --model run --beam 0 input.txt
expect_error "--beam is many, expected a whole number" "$heed" translate --model run --beam many input.txt
expect_error "--beam is 1e1, expected a whole number" "$heed" translate --model run --beam 1e1 input.txt
expect_error "--precision is f16, expected one of f32, bf16, int8" "$heed" translate --model run --precision f16 input.txt
expect_error "there is no option --bean; did you mean --beam? (see heed translate --help)" "$heed" translate --model run --bean=3 input.txt
expect_error "unexpected argument \"more.txt\"" "$heed" translate --model run input.txt more.txt
expect_error "there is no command \"encod\"; did you mean \"encode\"? (see heed tokenizer --help)" "$heed" tokenizer encod
expect_error "there is no option --fast (see heed bench --help)" "$heed" bench layers --fast
expect_error "there is no command \"translat\"; did you mean \"translate\"? (see heed --help)" "$heed" translat
expect_error "there is no command \"trian\"; did you mean \"train\"?" "$heed" trian
expect_error "there is no command \"frobnicate\" (see" "$heed" frobnicate
expect_error "--beam needs a value" "$heed" translate --model run --beam
expect_error "--beam is given 2 times, expected once" "$heed" translate --model run --beam 1 --beam 2
expect_error "heed tokenizer needs a command: train, encode, decode, info" "$heed" tokenizer
cp input.txt score # a file called as a command
expect "lines of a file called score" 50 "$("$heed" translate --model run score | wc -l)"
cp -r run/checkpoint-250 broken
truncate -s -5 broken/model.safetensors
expect_error "broken/model.safetensors" "$heed" translate --model broken input.txt

# info, average
"$heed" info run > info.txt
grep -q "^run: transformer, 0.0[0-9] million parameters" info.txt || fail "info says $(head -1 info.txt)"
grep -q "tokenizer of source and target: char, 10 tokens" info.txt || fail "info says nothing of the tokenizer"
grep -q "run/checkpoint-250" info.txt || fail "info lists no checkpoints"
"$heed" info --tensors run > tensors.txt
grep -q "F32 \[16,32\]" tensors.txt || fail "info --tensors has no embedding"
expect_error "is not a folder" "$heed" info no-such-folder
"$heed" average run --last 2 --output mean | grep -q "mean of 2 models" || fail "average"
"$heed" average run/checkpoint-200 run/checkpoint-250 --output mean-too > /dev/null
cmp -s mean/model.safetensors mean-too/model.safetensors || fail "average --last 2 is not that of the last two"
expect "lines of the average" 50 "$("$heed" translate --model mean input.txt | wc -l)"
expect_error "has 3 checkpoints, expected at least 9" "$heed" average run --last 9 --output mean-9

# attention
for type in html svg png; do
  "$heed" attention --model run --source abc --output look.$type | grep -q "^look.$type: 3 maps of 4 source" ||
    fail "attention to $type"
done
grep -qi "<html" look.html || fail "look.html is no page"
grep -q "<svg" look.svg || fail "look.svg is no picture"
expect "signature of PNG" "89504e470d0a1a0a" "$(head -c 8 look.png | od -An -tx1 | tr -d ' ')"
expect_error "ends in .html, .svg or .png" "$heed" attention --model run --source abc --output look.jpg
expect_error "--source is empty" "$heed" attention --model run --source "" --output look.svg

# score
expect "score of itself" "100.0000" "$(printf 'a b c d e\n' > same.txt; "$heed" score --reference same.txt same.txt | cut -f1)"
expect_error "wanted.txt has 50 lines, but the hypotheses in same.txt have 1" "$heed" score --reference wanted.txt same.txt
expect_error "no-such-file" "$heed" score --reference no-such-file same.txt

# tokenizer: there and back
printf 'the cat sat on the mat\nthe dog sat on the cat\n\na cat\n' > text.txt
for kind in bpe byte_bpe wordpiece char word token; do
  "$heed" tokenizer train text.txt --kind $kind --vocabulary 300 --output $kind.tokenizer > /dev/null 2> tokenizer.log ||
    { cat tokenizer.log >&2; fail "tokenizer train --kind $kind"; continue; }
  for ids in "" --ids; do
    # shellcheck disable=SC2086
    "$heed" tokenizer encode --tokenizer $kind.tokenizer $ids text.txt > encoded.txt
    # shellcheck disable=SC2086
    "$heed" tokenizer decode --tokenizer $kind.tokenizer $ids encoded.txt | cmp -s - text.txt ||
      fail "tokenizer $kind $ids does not round trip"
  done
done
mkdir bytes
printf 'Stra\337e \377\n' > latin.txt
"$heed" tokenizer train latin.txt --kind byte_bpe --vocabulary 300 --output bytes/tokenizer.json > /dev/null
"$heed" tokenizer encode --tokenizer bytes latin.txt > encoded.txt
"$heed" tokenizer decode --tokenizer bytes encoded.txt | cmp -s - latin.txt || fail "bytes that are no UTF-8 do not come back"
printf '[UNK]\ncat\n##s\n' > vocab.txt
expect "BERT's vocab.txt" "cat ##s" "$("$heed" tokenizer encode --tokenizer vocab.txt <(echo Cats))"
expect "its folder" "1 2" "$("$heed" tokenizer encode --ids --tokenizer . <(echo Cats))"
expect "offsets" "$(printf 'cat\t1\t2\t5\n##s\t2\t5\t6\n[UNK]\t0\t7\t11')" "$("$heed" tokenizer encode --offsets --tokenizer . <(echo '  Cats dög'))"
expect_error "--ids and --offsets cannot be combined" "$heed" tokenizer encode --ids --offsets --tokenizer . text.txt
expect_error "latin.txt:1] is not UTF-8" "$heed" tokenizer train latin.txt --kind token
expect_error "\"x\" is not an id" "$heed" tokenizer decode --tokenizer char.tokenizer --ids <(echo x)
expect_error "no-such-file" "$heed" tokenizer encode --tokenizer no-such-file text.txt

[ $failed -eq 0 ] && echo "all is well"
exit $failed
