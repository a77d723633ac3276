#!/usr/bin/env bash
# The program with language models and text encoders: trains tiny ones, then asks them what users ask.
# Usage: tests/cli/text_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

write_sentences
for ((i = 0; i < 40; i++)); do
  printf 'the cat saw a bird\tcat\na bird saw the dog\tdog\nthe dog saw a bird\tdog\nthe cat\tcat\na dog\tdog\n'
done > labels.tsv
for ((i = 0; i < 20; i++)); do
  printf 'the cat\ta cat\t5\nthe cat\tthe dog\t2\na bird\tthe bird\t5\na bird\tsaw\t1\n'
done > pairs.tsv
write_text_recipes 16 24
cat > classes.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["labels.tsv"]
valid_table = "labels.tsv"
test_table = "labels.tsv"
[train]
from = "masked"
steps = 80
RECIPE
cat > scores.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["pairs.tsv"]
pair_column = "2"
label_column = "3"
score = true
RECIPE
cat > similar.toml <<'RECIPE'
base = "masked.toml"
task = "similarity"
[data]
table = ["pairs.tsv"]
pair_column = "2"
label_column = "3"
RECIPE
cat > aligned.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["pairs.tsv"]
pair_column = "2"
label_column = "3"
[model]
kind = "decomposable_attention"
embedding = 8
hidden = 8
RECIPE
cat > hops.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["labels.tsv"]
[model]
kind = "self_attentive"
embedding = 8
hidden = 8
hops = 2
RECIPE
for recipe in masked classes scores similar aligned hops language; do
  train_tiny $recipe.toml $recipe
done
grep -q "^test .*labels.tsv: loss .* accuracy .* over 200 examples" classes.log || fail "train says $(cat classes.log)"
grep -q "begins with masked; new: classes.weight, classes.bias" classes.log || fail "nothing is said of the new head"
printf 'the cat\n\nthe dog saw a bird\n   \n\xff\xfe bad \x80\nthe cat' > lines.txt # six, the last without its end

# classify: a class a line
"$heed" classify --model classes lines.txt > classes.txt
expect "classes" "6" "$(grep -cxE 'cat|dog' classes.txt)"
expect "class of the cat" "cat" "$(sed -n 1p classes.txt)"
expect "class of the dog" "dog" "$(sed -n 3p classes.txt)"
expect "the same line again" "$(sed -n 1p classes.txt)" "$(sed -n 6p classes.txt)"
"$heed" classify --model classes < lines.txt | cmp -s - classes.txt || fail "standard input gives other classes"
"$heed" classify --model classes --probabilities lines.txt > chances.txt
cut -f1 chances.txt | cmp -s - classes.txt || fail "--probabilities gives other classes"
awk -F'[\t=]' 'NF != 5 || $2 != "cat" || $4 != "dog" || ($3 + $5 - 1) ^ 2 > 1e-7 {exit 1}' chances.txt ||
  fail "--probabilities gives $(cat chances.txt)"
expect "classes of bf16" "6" "$("$heed" classify --model classes --precision bf16 lines.txt | grep -cxE 'cat|dog')"
expect "no lines" "" "$("$heed" classify --model classes < /dev/null)"
printf 'the cat\ta cat\nthe cat\n\t\n' | "$heed" classify --model scores > scores.txt
expect "scores" "3" "$(grep -cxE -- '-?[0-9]+\.[0-9]{4}' scores.txt)"
expect_error "no head for classes" "$heed" classify --model masked lines.txt
expect_error "a gpt2 is not a text encoder" "$heed" classify --model language lines.txt

# fill: words for each mask
printf 'the [MASK] saw a bird\n[MASK] cat saw the [MASK]\n' > masks.txt
"$heed" fill --model masked --top 3 masks.txt > filled.txt
expect "masks" "1 2.1 2.2" "$(cut -f1 filled.txt | paste -sd' ')"
awk -F'\t' 'NF != 4 {exit 1} {for (i = 2; i <= 4; i++) {split($i, w, " "); if (w[2] !~ /^[01]\.[0-9]+$/ ||
  (i > 2 && w[2] > before)) exit 1; before = w[2]}}' filled.txt || fail "fill gives $(cat filled.txt)"
expect_error "the text has no [MASK]: the cat" "$heed" fill --model masked <(echo the cat)
expect_error "no head for masked words" "$heed" fill --model classes masks.txt

# match: the nearest entries
printf 'a bird\nthe cat\nsaw\n' > entries.txt
printf 'the cat\n\n' | "$heed" match --model similar --entries entries.txt --top 2 > matches.txt
expect "matches" "1 1 2 2" "$(cut -f1 matches.txt | paste -sd' ')"
expect "nearest to itself" "$(printf '1\t1.0000\t2\tthe cat')" "$(sed -n 1p matches.txt)"
expect "all entries" 3 "$(echo cat | "$heed" match --model similar --entries entries.txt --top 99 | wc -l)"
touch empty.txt
expect_error "empty.txt has no entries" "$heed" match --model similar --entries empty.txt lines.txt
expect_error "no-such-file" "$heed" match --model similar --entries no-such-file lines.txt

# embed: JSON lines, or one .npy file
number='-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?'
for pooling in mean cls max pooler; do
  "$heed" embed --model classes --pooling $pooling lines.txt > vectors.jsonl
  expect "vectors by $pooling" 6 "$(grep -cxE "\{\"embedding\":\[($number,){15}$number\]\}" vectors.jsonl)"
  expect "vector of the same line" "$(sed -n 1p vectors.jsonl)" "$(sed -n 6p vectors.jsonl)"
done
"$heed" embed --model similar --normalize lines.txt | sed 's/.*\[//; s/\].*//' |
  awk -F, '{s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if ((s - 1) ^ 2 > 1e-8) exit 1}' ||
  fail "--normalize gives vectors of another length"
expect "no lines of vectors" "" "$("$heed" embed --model similar < /dev/null)"
"$heed" embed --model similar --output vectors.npy lines.txt
expect "beginning of .npy" "934e554d50590100" "$(head -c 8 vectors.npy | od -An -tx1 | tr -d ' \n')"
expect "length of the header" 118 "$(od -An -tu2 -j8 -N2 vectors.npy | tr -d ' ')"
expect "header" "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 16), }" \
  "$(head -c 127 vectors.npy | tail -c 117 | sed 's/ *$//')"
expect "size" $((128 + 6 * 16 * 4)) "$(stat -c %s vectors.npy)"
expect "first number" "$("$heed" embed --model similar lines.txt | head -1 | sed 's/.*\[\([^,]*\),.*/\1/' | cut -c1-6)" \
  "$(od -An -tf4 -j128 -N4 vectors.npy | tr -d ' ' | cut -c1-6)"
expect_error "expected a name that ends in .npy" "$heed" embed --model similar --output vectors.txt lines.txt
expect_error "--pooling" "$heed" embed --model similar --pooling min lines.txt

# encoders that attend to sum up, or to align
expect "class of a pair" 1 "$(printf 'the cat\ta cat\n' | "$heed" classify --model aligned | grep -cxE '5|2|1')"
expect "class by hops" 1 "$(echo 'the dog' | "$heed" classify --model hops | grep -cxE 'cat|dog')"
expect "all hops side by side" 32 "$(echo 'the dog' | "$heed" embed --model hops --pooling pooler | tr , '\n' | wc -l)"
"$heed" attention --model aligned --source 'the cat' --target 'a bird' --output aligned.svg > /dev/null
grep -q '>bird</text>' aligned.svg || fail "the picture of an alignment has no words"
"$heed" attention --model hops --source 'the cat' --kind hops --output hops.svg > /dev/null
grep -q '>hop 1</text>' hops.svg || fail "the picture of hops has no rows"
for output in aligned.html hops.html; do
  "$heed" attention --model ${output%.html} --source 'the cat' --output $output > /dev/null
  grep -q '"maps":\[{' $output || fail "$output has no maps"
done
expect_error "there is no cross attention to draw" "$heed" attention --model hops --source 'the cat' --kind cross --output x.svg

# generate: same seed, same text
say() { "$heed" generate --model language --max-tokens 12 "$@"; }
expect "same seed" "$(say --prompt 'the cat' --seed 7)" "$(say --prompt 'the cat' --seed 7)"
[ "$(say --prompt 'the cat' --seed 7)" != "$(say --prompt 'the cat' --seed 8)" ] || fail "another seed gives the same text"
expect "prompt" "the cat" "$(say --prompt 'the cat' | head -1 | cut -c1-7)"
expect "only what is new" "$(say --prompt 'the cat' --temperature 0)" "the cat$(say --prompt 'the cat' --temperature 0 --only-new)"
expect "answers" "--- 1 --- 2" "$(say --prompt 'the cat' --n 2 --stop "$(printf '\n')x" | grep '^---' | paste -sd' ')"
say --prompts lines.txt --n 2 --seed 7 --batch 3 > answers.jsonl 2> answers.log
expect "JSON lines" 12 "$(grep -cE '^\{"line":[1-6],"prompt":".*","text":".*","tokens":[0-9]+,"end":"(length|end|stop)"\}$' answers.jsonl)"
expect "lines of answers" "1 1 2 2 3 3 4 4 5 5 6 6" "$(sed 's/.*"line":\([0-9]*\).*/\1/' answers.jsonl | paste -sd' ')"
say --prompts lines.txt --n 2 --seed 7 --batch 1 2> /dev/null | cmp -s - answers.jsonl || fail "--batch changes the answers"
expect "no prompts" "" "$(say --prompts <(printf ''))"
expect_error "give only one of --prompt, --prompt-file and --prompts" "$heed" generate --model language --prompt a --prompts lines.txt
expect_error "--top-p is 0, expected a number above 0, up to 1 (see heed generate --help)" "$heed" generate --model language --prompt a --top-p 0
expect_error "a bert is not a language model" "$heed" generate --model masked --prompt a

# characters that the model has no token for
expect "nothing unknown" "" "$(say --prompt 'the cat' 2>&1 > /dev/null)"
expect "unknown characters" 'heed: 3 characters of the prompt are not in the vocabulary: "Z" "ß"' \
  "$(say --prompt 'the Zebra Zß' 2>&1 > /dev/null | grep vocabulary)"
expect "an unknown character of a line" 'heed: line 2: 1 character of the prompt is not in the vocabulary: "Z"' \
  "$(say --prompts <(printf 'the\nZ\n') 2>&1 > /dev/null | grep vocabulary)"

# eval: what is measured fits together
"$heed" eval --model language text.txt > eval.txt
size=$(wc -c < text.txt)
grep -q "^tokens [0-9]*, characters $size, bytes $size, words $(wc -w < text.txt)$" eval.txt || fail "eval counts $(head -1 eval.txt)"
awk '/^loss/ {if ($2 > 2.5 || (exp($2) - $4) ^ 2 > 1e-3 * $4 ^ 2) exit 1; found = 1} END {exit !found}' eval.txt ||
  fail "eval says $(cat eval.txt)"
expect_error "give a file; standard input cannot be read twice" "$heed" eval --model language -
expect_error "expected at least 2" "$heed" eval --model language --line-end <(printf '')

# a model that remembers segments: its memory, and how the loss falls with it
cat > segments.toml <<'RECIPE'
base = "language.toml"
[data]
max_length = 16
[model]
kind = "transformer_xl"
memory = 16
width = 16
heads = 2
layers = 1
RECIPE
train_tiny segments.toml segments
"$heed" eval --model segments text.txt > eval.txt
"$heed" eval --model segments --memory 16 text.txt | cmp -s - eval.txt || fail "--memory 16 is not what was trained with"
"$heed" eval --model segments --memory 0 text.txt | cmp -s - eval.txt && fail "--memory changes nothing"
"$heed" eval --model segments --memory 4 --tokens 50 text.txt | grep -qE '^tokens 49 in [0-9.]+ s, [0-9.]+ tokens/s$' || fail "--tokens says no time"
expect_error "a memory of 4 is for models that remember segments, without windows" "$heed" eval --model language --memory 4 text.txt
"$heed" compare memory --model xl=segments --model plain=language --lengths 0,16,999 --svg memory.svg text.txt > memory.txt
expect "rows of memory" "memory 0 16 999" "$(awk '{print $1}' memory.txt | paste -sd' ')"
grep -q '^ *999 .*-$' memory.txt || fail "a context that is too short has a loss: $(cat memory.txt)"
grep -q '^<svg' memory.svg || fail "the plot is no SVG"
expect "figures as JSON" 2 "$("$heed" compare memory --json --model xl=segments --lengths 0,8 text.txt | grep -c '"memory":[08],')"
expect_error "--lengths has -1, expected 0 to" "$heed" compare memory --model xl=segments --lengths=-1 text.txt

# answers come line by line
printf 'the cat\na dog\n' > nearest.txt
for command in "classify --model classes" "embed --model masked" "match --model masked --entries nearest.txt" \
  "fill --model masked"; do
  # shellcheck disable=SC2086
  expect_answer_at_once "the [MASK] saw a bird" "$heed" $command
done

# what is wrong is said in one line
for command in "classify" "fill" "match --entries entries.txt" "embed" "generate --prompt a" "eval text.txt"; do
  # shellcheck disable=SC2086
  expect_error "no-such-folder is not a folder" "$heed" $command --model no-such-folder
  # shellcheck disable=SC2086
  expect_error "--model is required" "$heed" $command
done
for command in classify fill embed; do
  expect_error "no-such-file" "$heed" $command --model masked no-such-file
done

[ $failed -eq 0 ] && echo "all is well"
exit $failed
