#!/usr/bin/env bash
# The program with models of music: continues motifs and improvises, with pictures and sound.
# Usage: tests/cli/continue_cli.sh HEED MUSIC_FOLDER
set -Eeuo pipefail
music_folder=$(realpath "$2")
. "$(dirname "$0")/support.sh"

"$music_folder" piano performance
"$music_folder" chorale chorale
motif="372 60 64 67 355 188 192 195"
printf '%s\n' "$motif" | "$heed" music decode - --output motif.mid > /dev/null

# The motif comes first, and the same seed gives the same file.
"$heed" continue --model piano --motif motif.mid --tokens 100 --seed 3 --output a.mid > said.txt
grep -q '^a.mid: 3 notes of the motif, [0-9]* new notes in [0-9.]* s' said.txt || fail "$(cat said.txt)"
[[ "$("$heed" music encode a.mid)" == "$motif "* ]] || fail "a.mid does not begin with the motif"
"$heed" continue --model piano --motif motif.mid --tokens 100 --seed 3 --output b.mid > /dev/null
cmp a.mid b.mid || fail "the same seed gave other music"
"$heed" continue --model piano --motif motif.mid --tokens 100 --seed 4 --output b.mid > /dev/null
! cmp -s a.mid b.mid || fail "another seed gave the same music"

# Only its beginning.
"$heed" continue --model piano --motif motif.mid --motif-seconds 0.5 --tokens 50 --output b.mid > /dev/null
[[ "$("$heed" music encode b.mid)" == "372 60 64 67 305 188 192 195 "* ]] || fail "the motif's beginning is another"

# Several improvisations with pictures; the model's 128 tokens are not enough for them all.
"$heed" continue --model piano --n 2 --tokens 150 --seed 3 --top-p 0.95 --output free.mid --roll free.svg \
  --attention free.html > said.txt 2> err.txt
expect "files" "free-1.html free-1.mid free-1.svg free-2.html free-2.mid free-2.svg" "$(echo free*)"
expect "lines" 2 "$(wc -l < said.txt)"
if grep -q 'used up' said.txt; then
  grep -q 'the context is 128 tokens; the oldest [0-9]* were dropped' err.txt || fail "$(cat err.txt)"
  grep -q 'the attention of the last 128 of 151 tokens' err.txt || fail "$(cat err.txt)"
fi
grep -q '^</svg>' free-1.svg || fail "free-1.svg has no end"
grep -q '"layers":\[{' free-1.html || fail "free-1.html has no weights"
"$heed" continue --model piano --motif motif.mid --seconds 1.5 --output c.mid --roll c.png > said.txt
expect "PNG" "PNG" "$(head -c 4 c.png | tail -c 3)"
awk '{ exit !($(NF-1) <= 1.5 || /ended it/) }' said.txt || fail "more than 1.5 s: $(cat said.txt)"

# Four voices at the motif's tempo.
printf '%s\n' "372 72 67 60 48 355 200 195 188 176" | "$heed" music decode - --output chord.mid > /dev/null
"$heed" continue --model chorale --motif chord.mid --tokens 64 --output voices.mid > said.txt
grep -q '^voices.mid: 4 notes of the motif' said.txt || fail "$(cat said.txt)"
"$heed" music info voices.mid > info.txt
grep -q 'tempo       120 quarter notes per minute' info.txt || fail "$(cat info.txt)"

# Sound, where there can be some.
if "$heed" continue --model piano --tokens 20 --output s.mid --audio s.wav > /dev/null 2> err.txt; then
  expect "WAV" "RIFF" "$(head -c 4 s.wav)"
else
  grep -q '\[sound\].*install' err.txt || fail "$(cat err.txt)"
  [ ! -e s.mid ] || fail "work was done before the missing sound was found out"
fi

printf '%s\n' "60 62 64 65 67 355 188" | "$heed" music decode - --output five.mid > /dev/null
expect_error "more than 4 notes sound at" "$heed" continue --model chorale --motif five.mid --output x.mid
expect_error "--seconds and --tokens cannot be combined" "$heed" continue --model piano --seconds 1 --tokens 1 --output x.mid
expect_error "--motif-seconds needs --motif or --melody" "$heed" continue --model piano --motif-seconds 1 --output x.mid
# A note of percussion is none that a model could go on from.
printf 'MThd\0\0\0\6\0\0\0\1\0\140MTrk\0\0\0\14\0\231\52\100\140\211\52\0\0\377\57\0' > drum.mid
expect_error "drum.mid has no notes; leave --motif out" "$heed" continue --model piano --motif drum.mid --output x.mid
# The second tempo at once counts: a quarter at 60 quarters a minute is four sixteenths of 0.25 s.
printf 'MThd\0\0\0\6\0\0\0\1\0\140MTrk\0\0\0\32\0\377\121\3\7\241\40\0\377\121\3\17\102\100\0\220\74\100\140\200\74\0\0\377\57\0' > slow.mid
"$heed" continue --model chorale --motif slow.mid --tokens 16 --output s.mid > /dev/null
"$heed" music info s.mid | grep -q 'tempo       60 quarter notes per minute' || fail "$("$heed" music info s.mid)"
expect_error "--output is x.wav, expected a name that ends in .mid or .midi" "$heed" continue --model piano --output x.wav
expect_error "--roll is x.gif, expected a name that ends in .svg or .png" "$heed" continue --model piano --output x.mid --roll x.gif
expect_error "cannot open missing.mid" "$heed" continue --model piano --motif missing.mid --output x.mid
expect_error "temperature is -1" "$heed" continue --model piano --temperature -1 --output x.mid
printf '\n' | "$heed" music decode - --output empty.mid > /dev/null
expect_error "empty.mid has no notes; leave --motif out" "$heed" continue --model piano --motif empty.mid --output x.mid

# A melody and its accompaniment: in a chorale three voices as long as it, in a performance another track.
"$music_folder" harmonise chorale accompany
"$music_folder" duet performance accompany
printf '%s\n' "372 72 305 200 74 305 202" | "$heed" music decode - --output tune.mid > /dev/null
"$heed" continue --model harmonise --melody tune.mid --seed 3 --output h.mid --roll h.svg > said.txt 2> err.txt
grep -q '^h.mid: 2 notes of the melody, [0-9]* of the accompaniment in 1.00 s' said.txt || fail "$(cat said.txt)"
expect "nothing left out" "" "$(cat err.txt)"
grep -q 'melody: 2 notes' h.svg || fail "h.svg has no melody"
grep -q 'accompaniment: [0-9]* notes' h.svg || fail "h.svg has no accompaniment"
"$heed" music info h.mid > info.txt
grep -q 'tempo       120 quarter notes per minute' info.txt || fail "$(cat info.txt)"
"$heed" continue --model harmonise --melody tune.mid --seed 3 --output i.mid > /dev/null
cmp h.mid i.mid || fail "the same seed gave another accompaniment"
"$heed" continue --model duet --melody tune.mid --n 2 --top-p 0.9 --output duet.mid > said.txt
expect "files" "duet-1.mid duet-2.mid" "$(echo duet-*.mid)"
grep -q '^duet-2.mid: 2 notes of the melody' said.txt || fail "$(cat said.txt)"
"$heed" continue --model harmonise --melody five.mid --output h.mid > said.txt 2> err.txt
grep -qF 'five.mid: the melody is the highest voice; 4 of 5 notes sound below it and are left out' err.txt || fail "$(cat err.txt)"
grep -q '^h.mid: 1 notes of the melody' said.txt || fail "$(cat said.txt)"
expect_error "--motif and --melody cannot be combined" "$heed" continue --model harmonise --motif tune.mid --melody tune.mid --output x.mid
expect_error "leave --seconds and --tokens out" "$heed" continue --model harmonise --melody tune.mid --tokens 5 --output x.mid
expect_error "--attention cannot be combined with --melody" "$heed" continue --model harmonise --melody tune.mid --attention x.html --output x.mid
expect_error 'chorale is a gpt2: --melody needs an encoder-decoder that learned to accompany; train one with task = "accompany"' \
  "$heed" continue --model chorale --melody tune.mid --output x.mid
expect_error 'duet is a transformer: motifs are continued by a language model of music; train one with task = "music"' \
  "$heed" continue --model duet --motif tune.mid --output x.mid
expect_error "empty.mid has no notes, expected a melody" "$heed" continue --model harmonise --melody empty.mid --output x.mid
[ ! -e x.mid ] || fail "a file was written in spite of an error"

exit $failed
