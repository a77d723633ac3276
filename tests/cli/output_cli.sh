#!/usr/bin/env bash
# No output is lost without a word: every command with standard output on a full device, on a pipe that nobody reads and
# closed, and every option that names a file with a folder that is not there and with a disk that takes nothing.
# Usage: tests/cli/output_cli.sh HEED MUSIC_FOLDER RECIPES
set -Eeuo pipefail
music_folder=$(realpath "$2")
recipes=$(realpath "$3")
tests=$(realpath "$(dirname "$0")/..")
. "$tests/cli/support.sh"
. "$tests/serve/tiny_models.sh"

head -3 train.src > three.txt
printf 'the [MASK] saw a bird\n' > mask.txt
printf 'the cat\na bird\n' > entries.txt
echo '372 60 64 67 355 188 192 195' > chord.txt
"$heed" music decode chord.txt --output chord.mid > /dev/null
mkdir -p pictures/3
"$heed" image draw digits --count 1 --output pictures/3/one.png > /dev/null
"$heed" image draw photo --side 24 --output photo.png > /dev/null
"$heed" tokenizer train text.txt --kind char --output letters.json > /dev/null
"$heed" tokenizer encode --tokenizer letters.json three.txt > pieces.txt
"$heed" corpus demo --out demo --train 10 --valid 5 --test 50 > /dev/null
"$heed" translate --model pairs three.txt > three.out

# Every command that prints, ready to run again and again; the last word of a line may be a file that it writes.
cat > commands.txt <<'COMMANDS'

help
--version
translate --help
train --keys
train --keys translate
train pairs.toml --check
translate --model pairs three.txt
score --reference three.txt three.out
score --reference three.txt --json three.out
score --reference three.txt --sentence three.out
eval --model language text.txt
eval --model digits --binarise threshold pictures
compare lengths a=three.out --source three.txt --reference three.txt
generate --model language --max-tokens 2 --prompt the
generate --model language --max-tokens 2 --prompts three.txt
classify --model classes text.txt
fill --model masked mask.txt
match --model masked --entries entries.txt three.txt
embed --model masked three.txt
attention --model pairs --source abc --output look.svg
continue --model piano --tokens 5 --output piece.mid
continue --model harmonise --melody chord.mid --output piece.mid
music info chord.mid
music encode chord.mid
music decode chord.txt --output piece.mid
music motif --pieces 1 --sections 4 piano
image sample --model digits --count 1 --output drawn.png
image complete --model digits --count 1 --n 1 --class 3 pictures/3/one.png --output drawn.png
image upscale --model larger --count 1 --n 1 pictures --output drawn.png
image draw digits --count 1 --output drawn.png
image denoise photo.png --output drawn.png
image texture photo.png --size 16x16 --window 5 --output drawn.png
tokenizer train text.txt --kind char --output new.json --force
tokenizer encode --tokenizer letters.json text.txt
tokenizer decode --tokenizer letters.json pieces.txt
tokenizer info --tokenizer letters.json
corpus demo --train 2 --valid 2 --test 2 --out demo2
corpus ambiguous --cases demo/test.ambiguous.tsv demo/test.it
info pairs
info pairs --tensors
convert language --dtype bf16 --output converted
average pairs pairs --output mean
bench ops gelu --dtype f32 --reps 1
COMMANDS

# A pipe whose reader is gone.
mkfifo pipe
exec 3<> pipe 4> pipe 3<&-

while read -r line; do
  read -ra words <<< "$line"
  run() {
    rm -rf demo2 converted mean
    "$heed" "${words[@]}" 2> err.txt
  }
  status=0
  run > /dev/full || status=$?
  expect "heed $line > /dev/full: status" 1 "$status"
  expect "heed $line > /dev/full: says" "heed: cannot write to standard output: No space left on device" "$(tail -1 err.txt)"
  status=0
  run >&4 || status=$?
  expect "heed $line to a closed pipe: status" 141 "$status"
  grep -q 'cannot' err.txt && fail "heed $line to a closed pipe says $(cat err.txt)"
  status=0
  (
    trap '' PIPE # as some programs start others
    run >&4
  ) || status=$?
  expect "heed $line to a closed pipe, without the signal: status" 141 "$status"
  grep -q 'cannot' err.txt && fail "heed $line to a closed pipe, without the signal, says $(cat err.txt)"
done < commands.txt
status=0
"$heed" info pairs 2> err.txt >&- || status=$?
expect "closed standard output: status" 1 "$status"
grep -q "cannot write to standard output: Bad file descriptor" err.txt || fail "closed standard output: $(cat err.txt)"

# Files: into a folder that is not there, into a file in the place of the folder, on a disk that takes nothing. What is
# wrong is said, and nothing is left behind.
echo file > file
while read -r line; do
  for folder in no-such-folder file; do
    # shellcheck disable=SC2086
    expect_failure "$folder" "$heed" ${line//OUT/$folder}
    [ ! -s out.txt ] || fail "heed ${line//OUT/$folder} says $(cat out.txt)"
  done
  [ ! -e no-such-folder ] || fail "heed $line makes no-such-folder"
  mkdir full
  status=0
  # shellcheck disable=SC2086
  (
    trap '' XFSZ
    ulimit -f 0
    "$heed" ${line//OUT/full} 2>&1 > /dev/null | cat > /dev/null
    exit "${PIPESTATUS[0]}"
  ) || status=$?
  expect "heed ${line//OUT/full} on a full disk: status" 1 "$status"
  expect "heed ${line//OUT/full} on a full disk: files" "" "$(find full -type f)"
  rm -r full
done <<'COMMANDS'
attention --model pairs --source abc --output OUT/look.svg
embed --model masked --output OUT/vectors.npy three.txt
translate --model pairs --output OUT/three.out three.txt
classify --model classes --output OUT/classes.txt three.txt
compare lengths a=three.out --source three.txt --reference three.txt --svg OUT/lengths.svg
continue --model piano --tokens 5 --output OUT/piece.mid
continue --model piano --tokens 5 --output OUT/piece.mid --roll OUT/piece.svg
music decode chord.txt --output OUT/piece.mid
image sample --model digits --count 1 --output OUT/drawn.png
image complete --model digits --count 1 --n 1 --class 3 pictures --output OUT/drawn.png
image draw digits --count 1 --output OUT/drawn.png
image denoise photo.png --output OUT/drawn.png
image texture photo.png --size 16x16 --window 5 --output OUT/drawn.png
tokenizer train text.txt --kind char --output OUT/new.json
COMMANDS
expect_failure "file" "$heed" corpus demo --train 2 --valid 2 --test 2 --out file
expect_failure "file" "$heed" convert language --dtype bf16 --output file
expect_failure "file" "$heed" average pairs pairs --output file

# A device is written to, not replaced; a link stays one.
mkfifo out.png
cat out.png > copy.png &
"$heed" image draw digits --count 1 --output out.png > /dev/null
wait $!
[ -p out.png ] || fail "a pipe was replaced"
cmp -s copy.png pictures/3/one.png || fail "a pipe does not get the picture"
ln -s target.png link.png
echo old > target.png
"$heed" image draw digits --count 1 --output link.png > /dev/null
[ -L link.png ] || fail "a link was replaced"
cmp -s target.png pictures/3/one.png || fail "the target of a link does not get the picture"

[ $failed -eq 0 ] && echo "all is well"
exit $failed
