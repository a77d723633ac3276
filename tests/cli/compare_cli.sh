#!/usr/bin/env bash
# Ways of decoding side by side: the numbers are those of the other commands, the pictures are there, and mistakes are
# named. Usage: tests/cli/compare_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

write_reversed_words 400 abcdef 2 6
write_reversed_recipe
train_tiny reversed.toml run --set train.steps=60
head -40 train.src > test.src
head -40 train.tgt > test.tgt
compare() { # options...
  "$heed" compare decoders --source test.src --reference test.tgt --reps 2 --sentences 40 "$@"
}

compare --model greedy=run:greedy --model "two words=run:beam,beam=2,length_penalty=1" --model usual=run \
  --svg decoders.svg --trace-svg trace.svg --trace-line 3 > table.txt 2> log.txt || { cat log.txt >&2; exit 1; }
expect "lines" 4 "$(wc -l < table.txt)"
grep -qE '^greedy +greedy +[0-9.]+ +[0-9.]+ +[0-9.]+/s +[0-9.]+/s +[0-9.]+ +[0-9]+ MiB$' table.txt || fail "$(cat table.txt)"
grep -qE '^two words +beam, beam 2, length_penalty 1 ' table.txt || fail "options are not shown: $(cat table.txt)"
for options in "greedy:--decoding greedy" "two words:--beam 2 --length-penalty 1" "usual:"; do
  # shellcheck disable=SC2086
  bleu=$("$heed" translate --model run ${options#*:} test.src 2> /dev/null | "$heed" score --reference test.tgt | cut -f1)
  printf '%s' "$(grep "^${options%%:*} " table.txt)" | grep -qF " $(printf '%.2f' "$bleu") " ||
    fail "BLEU of ${options%%:*} is $bleu: $(cat table.txt)"
done
grep -q ">two words<" decoders.svg || fail "the plot has no labels"
grep -q "$(sed -n 3p test.src)" trace.svg || fail "the picture shows another line"
grep -q ">usual: " trace.svg || fail "the picture does not name its decoders"

compare --model a=run:greedy --json > json.txt
expect "JSON" 1 "$(grep -cE '^\{"name":"a","decoding":"greedy","bleu":[0-9.e-]+,"chrf":[0-9.e-]+,.*"steps_per_sentence":[0-9.]+,"mebibytes":[0-9.]+\}$' json.txt)"

expect_error "run is not of the form NAME=PATH" compare --model run
expect_error "decoding is fastest, expected one of greedy, beam" compare --model a=run:fastest
expect_error "this model was not trained for decoding refine; it can do: greedy, beam" compare --model a=run:refine
expect_error "decoding greedy has no option beam; it has none" compare --model a=run:greedy,beam=2
expect_error "beam is 0, expected a whole number from 1 to 256" compare --model a=run:beam,beam=0
expect_error "beam of a is not of the form OPTION=VALUE" compare --model a=run:beam,beam
expect_error "--trace-line is 41, expected 1 to 40, the lines of test.src" compare --model a=run --trace-line 41
expect_error "--svg is plot.png, expected a name that ends in .svg" compare --model a=run --svg plot.png
expect_error "is not a folder" compare --model a=none
head -3 test.tgt > short.tgt
expect_error "test.src has 40 lines and short.tgt has 3" "$heed" compare decoders --model a=run --source test.src --reference short.tgt

# heed compare compressors: a text alone and after another one, plain or gzip, and what an empty one says
for _ in $(seq 200); do echo 'the café is open'; done > text.txt
gzip -c text.txt > text.txt.gz
"$heed" compare compressors text.txt text.txt.gz --after text.txt --after train.src --order 4 > compressors.txt
expect "lines" 5 "$(wc -l < compressors.txt)"
grep -qE '^text\.txt +ppm 4 +3400 +[0-9]+ +0\.[0-9]{4} +0\.[0-9]{4}$' compressors.txt || fail "$(cat compressors.txt)"
grep -qE '^text\.txt\.gz +ppm 4 after +3400 ' compressors.txt || fail "$(cat compressors.txt)"
expect "the same text" "$(sed -n 's/^text.txt  *ppm 4  *//p' compressors.txt | grep -v after)" "$(sed -n 's/^text.txt.gz  *ppm 4  *//p' compressors.txt | grep -v after)"
: > empty.txt
expect_error "empty.txt is empty" "$heed" compare compressors empty.txt
expect_error "--order is 17" "$heed" compare compressors text.txt --order 17

# heed translate --trace: every pass of each line, then the translation
echo abc | "$heed" translate --model run --decoding greedy --trace > trace.txt
expect "the translation comes last" "$(echo abc | "$heed" translate --model run --decoding greedy)" "$(tail -1 trace.txt)"
expect "the first pass has one token" 1 "$(head -1 trace.txt | cut -f2 | wc -w)"
expect_error "--trace shows how one translation of each line fills in, and --n-best asks for 2" \
  "$heed" translate --model run --trace --n-best 2 test.src
exit $failed
