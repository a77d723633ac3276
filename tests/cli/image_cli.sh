#!/usr/bin/env bash
# The program with images: draws, adds noise and takes it out, grows a texture, unpacks CIFAR-10's sheets.
# Usage: tests/cli/image_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"

expect "digits" "digits.png: 115 x 86" "$("$heed" image draw digits --count 12 --output digits.png)"
expect "shapes" "shapes.png: 65 x 65" "$("$heed" image draw shapes --count 4 --output shapes.png)"
"$heed" image draw digits --count 12 --output again.png > said.txt
cmp digits.png again.png || fail "the same drawings are not the same"
"$heed" image draw digits --count 12 --seed 2 --output again.png > said.txt
! cmp -s digits.png again.png || fail "another seed drew the same"

# Noise goes in and out again.
"$heed" image draw photo --side 128 --grey --output photo.png > said.txt
"$heed" image draw photo --side 128 --grey --noise 25 --output noisy.png > said.txt
"$heed" image denoise noisy.png --sigma 25 --reference photo.png --output clean.png > said.txt
grep -qE '^clean.png: 128 x 128, noise of sigma 25.00, [0-9.]+ s$' said.txt || fail "denoise says $(cat said.txt)"
read -r before after < <(sed -nE 's/^PSNR ([0-9.]+) dB before, ([0-9.]+) dB after$/\1 \2/p' said.txt)
awk -v before="$before" -v after="$after" 'BEGIN { exit !(before > 19 && before < 22 && after > before + 4) }' ||
  fail "PSNR $before before, $after after"
"$heed" image denoise noisy.png --output estimated.png > said.txt
grep -qE 'noise of sigma 2[3-9]\.' said.txt || fail "the estimate: $(cat said.txt)"

# A texture is a function of its seed.
"$heed" image draw photo --side 32 --output sample.png > said.txt
"$heed" image texture sample.png --size 40x24 --window 7 --output one.png > said.txt
grep -qE '^one.png: 40 x 24 from 32 x 32, [0-9.]+ s$' said.txt || fail "texture says $(cat said.txt)"
OMP_NUM_THREADS=1 "$heed" image texture sample.png --size 40x24 --window 7 --output two.png > said.txt
cmp one.png two.png || fail "the same texture is not the same"

expect_error "--size is 40, expected WIDTHxHEIGHT" "$heed" image texture sample.png --size 40 --output bad.png
expect_error "--size is 40x, expected" "$heed" image texture sample.png --size 40x --output bad.png
expect_error "--size is x, expected" "$heed" image texture sample.png --size x --output bad.png
expect_error "[texture] a result of 9 x -4" "$heed" image texture sample.png --size=-4x9 --output bad.png
expect_error "[texture] window 8" "$heed" image texture sample.png --size 9x9 --window 8 --output bad.png
expect_error "cannot open missing.png" "$heed" image denoise missing.png --output bad.png
expect_error "is not a PNG" "$heed" image denoise said.txt --output bad.png
expect_error "[psnr] 128 x 128 x 1 against 32 x 32 x 3" \
  "$heed" image denoise noisy.png --reference sample.png --output bad.png
expect_error "[non_local_means] patch 2" "$heed" image denoise noisy.png --patch 2 --output bad.png
expect_error "--noise" "$heed" image draw photo --noise 256 --output bad.png
expect_error "KIND is cats, expected one of digits, shapes, photo" "$heed" image draw cats --output bad.png

# Sheets: labels are looked at before anything is written.
echo "[1, 2, 3]" > labels.json
expect_error "[image] labels.json has 3 labels, expected 32 from 0 on" "$heed" image unpack sample.png labels.json --output bad.bin
printf '[%s11]' "$(printf '1,%.0s' {1..31})" > labels.json
expect_error "[image] labels.json: label 31 is 11, expected 0 to 9" "$heed" image unpack sample.png labels.json --output bad.bin
echo "{}" > labels.json
expect_error "[image] labels.json holds object, expected a list of labels" "$heed" image unpack sample.png labels.json --output bad.bin
printf '[%s1]' "$(printf '1,%.0s' {1..31})" > labels.json
expect_error "[cifar] a sheet 32 wide with 3 channels, expected 1024 and 3" \
  "$heed" image unpack sample.png labels.json --output bad.bin
[[ ! -e bad.png && ! -e bad.bin ]] || fail "a file was written in spite of an error"

exit $failed
