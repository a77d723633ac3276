#!/usr/bin/env bash
# Targets made by a teacher: aligned with the source, the same after interruptions of any kind, never written over
# other files. Usage: tests/cli/distil_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

write_reversed_words 1200 abcdef 2 9
write_reversed_recipe
printf 'base = "reversed.toml"\n[train]\nsteps = 30\n' > recipe.toml
train_tiny recipe.toml teacher
sed -i '5s/.*//; 9s/.*/   /' train.src
cp train.src source.txt
distil=("$heed" distil --model teacher --source source.txt --batch-tokens 512)

"${distil[@]}" --output whole.txt --alignments whole.counts > out.txt 2> log.txt || { cat log.txt >&2; exit 1; }
expect "what it says" "whole.txt: 1200 lines, one for each line of the source" "$(cat out.txt)"
expect "lines" 1200 "$(wc -l < whole.txt)"
"$heed" translate --model teacher source.txt 2> /dev/null | cmp -s - whole.txt || fail "heed translate says something else"
expect "line 5, which is empty" "" "$(sed -n 5p whole.txt)"
expect "counts of line 5" 0 "$(sed -n 5p whole.counts)"
paste -d'|' source.txt whole.txt whole.counts | awk -F'|' '{
  n = split($3, counts, " ")
  for (sum = 0; n > 0; n--) sum += counts[n]
  if (split($3, counts, " ") != length($1) + 1 || sum != length($2)) { print NR ": " $0; exit 1 }
}' || fail "counts do not belong to their line"
expect "files that are left" "" "$(find . -name '*.part*')"
for i in {1..12}; do cat source.txt; done > long.txt # which takes longer than half a second
"$heed" distil --model teacher --source long.txt --output long.out > /dev/null 2> log.txt
grep -qE '^ *[0-9]+ %, [0-9]+ of 14400 lines, [0-9.]+ lines/s, [0-9:?]+ left$' log.txt || fail "shows no progress: $(cat log.txt)"

# a recipe's source, gzip
"$heed" distil --model teacher --recipe recipe.toml --output recipe.gz > /dev/null 2>&1
gzip -dc recipe.gz | cmp -s - whole.txt || fail "--recipe gives another translation"
# several sources, one after the other
head -500 source.txt > a.txt
tail -700 source.txt | gzip > b.gz
"$heed" distil --model teacher --source a.txt b.gz --output parts.txt > /dev/null 2>&1
cmp -s parts.txt whole.txt || fail "two files give another translation"

# interrupted: says how to go on, and ends with the same
wait_for_lines() { # file, process, how many
  for ((i = 0; i < 600; i++)); do
    [ -e "$1" ] && [ "$(wc -l < "$1")" -gt "$3" ] && return
    kill -0 "$2" 2> /dev/null || return
    sleep 0.02
  done
}
command="distil --model teacher --source source.txt --output new.txt --beam 6 --length-penalty 1 --batch-tokens 512"
for round in 1 2 3; do
  signal=$([ $round = 3 ] && echo KILL || echo INT)
  rm -f new.txt*
  "${distil[@]}" --output new.txt --beam 6 --length-penalty 1 > out.txt 2> log.txt &
  process=$!
  wait_for_lines new.txt.part $process $((round * 200))
  kill -$signal $process 2> /dev/null || true
  status=0
  wait $process 2> /dev/null || status=$?
  if [ $status -eq 0 ]; then # it was done before
    cp new.txt beam6.txt
    continue
  fi
  [ ! -e new.txt ] || fail "an unfinished file has its name"
  if [ $signal = INT ]; then
    expect "status" 130 $status
    expect "the command that continues" "$command" "$(sed -n 's/^stopped after [0-9]* of 1200 lines; go on with: heed //p' log.txt)"
  fi
  expect_error "new.txt.part was begun with beam = 6, and now it is 4 (new.txt.part.json has all of it); --force begins anew" \
    "${distil[@]}" --output new.txt --length-penalty 1
  # shellcheck disable=SC2086
  "$heed" $command > out.txt 2> log.txt || { cat log.txt >&2; exit 1; }
  [ $signal = KILL ] || grep -q "lines are there already; going on" log.txt || fail "begins anew: $(cat log.txt)"
  [ -e beam6.txt ] || "${distil[@]}" --output beam6.txt --beam 6 --length-penalty 1 > /dev/null 2>&1
  cmp -s new.txt beam6.txt || fail "after $signal it ends with other lines"
  expect "files that are left" "" "$(find . -name '*.part*')"
done

# what is wrong is said in one line
expect_error "whole.txt exists already: give another name, or replace it with --force" "${distil[@]}" --output whole.txt
expect_error "give either --source or --recipe" "$heed" distil --model teacher --output x.txt
expect_error "give either --source or --recipe" "${distil[@]}" --recipe recipe.toml --output x.txt
expect_error "cannot write none/x.txt: there is no folder none" "${distil[@]}" --output none/x.txt
expect_failure "no-such-file" "$heed" distil --model teacher --source no-such-file --output x.txt
expect_error "--output is required" "${distil[@]}"
printf 'base = "recipe.toml"\n[data]\nbuiltin = "demo"\nsource = []\ntarget = []\n' > demo.toml
expect_error "demo.toml names no files in data.source; give the source files with --source" \
  "$heed" distil --model teacher --recipe demo.toml --output x.txt
"${distil[@]}" --output whole.txt --force > /dev/null 2>&1 || fail "--force does not replace"
[ ! -e x.txt ] || fail "an error left x.txt"
expect "files that are left" "" "$(find . -name '*.part*')"
exit $failed
