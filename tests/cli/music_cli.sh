#!/usr/bin/env bash
# The program with MIDI files: writes some, looks into them, turns them into events and back.
# Usage: tests/cli/music_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"

# A chord of one second, then a higher note of half a second.
chord="372 60 64 67 355 188 192 195"
printf '%s\n' "$chord" | "$heed" music decode - --output chord.mid > said.txt
expect "decode" "chord.mid: 3 notes" "$(cat said.txt)"
expect "round trip" "$chord" "$("$heed" music encode chord.mid)"
expect "names" "SET_VELOCITY<66> NOTE_ON<60> NOTE_ON<64> NOTE_ON<67> TIME_SHIFT<1000> NOTE_OFF<60> NOTE_OFF<64> NOTE_OFF<67>" \
  "$("$heed" music encode --names chord.mid)"

# Several lines are several files, an empty one a piece without notes.
printf '%s\n\n%s\n' "$chord" "356 72 305 200" > three.txt
"$heed" music decode three.txt --output out.mid > said.txt
expect "files" "out-1.mid out-2.mid out-3.mid" "$(echo out*.mid)"
"$heed" music encode out-?.mid | cmp - three.txt || fail "three pieces are not the same again"

expect "info" "chord.mid
  format      0, 1 track
  duration    1.00 s
  notes       3
  pitches     C4 (60) to G4 (67)
  velocities  66 to 66, mean 66.0
  pedal       0 events
  tempo       120 quarter notes per minute" "$("$heed" music info chord.mid)"

# The key is released after half a second, while the pedal is down; that lifts after two seconds.
printf 'MThd\0\0\0\6\0\0\0\1\0\144MTrk\0\0\0\25\0\220\74\100\62\260\100\177\62\220\74\0\202\54\260\100\0\0\377\57\0' > pedal.mid
expect "pedal" "371 60 355 355 188" "$("$heed" music encode --pedal pedal.mid)"
expect "no pedal" "371 60 305 188" "$("$heed" music encode --no-pedal pedal.mid)"
expect "pedal is the default" "$("$heed" music encode --pedal pedal.mid)" "$("$heed" music encode pedal.mid)"

# Files that cannot be read are named; the others go on.
head -c 30 chord.mid > cut.mid
expect_failure "[midi] cut.mid at byte 22: a track of" "$heed" music encode cut.mid missing.mid chord.mid
grep -qF "cannot open missing.mid: No such file" err.txt || fail "missing.mid is not named: $(cat err.txt)"
expect "the others" "$chord" "$(cat out.txt)"
expect_error "no MThd, so this is not a MIDI file" "$heed" music info three.txt

echo "1 2 x" > bad.txt
expect_error '[bad.txt:1] "x" is not an id' "$heed" music decode bad.txt --output bad.mid
echo "1 388" > bad.txt
expect_error "[bad.txt:1] [performance] symbol 388, expected 0 to 387" "$heed" music decode bad.txt --output bad.mid
: > bad.txt
expect_error "bad.txt is empty" "$heed" music decode bad.txt --output bad.mid
[ ! -e bad.mid ] || fail "a file was written in spite of an error"

exit $failed
