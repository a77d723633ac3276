#!/usr/bin/env bash
# The program with models of images: trains a few steps, measures, samples, completes, enlarges, shows attention.
# Usage: tests/cli/image_models_cli.sh HEED RECIPES
set -Eeuo pipefail
recipes=$(realpath "$2")
. "$(dirname "$0")/support.sh"

tiny=(--set image.rows=12 --set image.columns=12 --set data.batch_tokens=1152 --set model.width=16
  --set model.heads=2 --set model.layers=1 --set model.hidden=32 --set model.block_rows=4
  --set model.block_columns=4 --set model.memory_rows=4 --set model.memory_columns=4 --set train.steps=3
  --set validation.every=3)
"$heed" train "$recipes/images/digits.toml" --out drawn "${tiny[@]}" > said.txt 2>&1 || fail "train: $(cat said.txt)"
grep -qE 'nats per image, [0-9.]+ bits per dimension, over [0-9]+ images' said.txt || fail "train says $(cat said.txt)"

# There is no tokenizer to tell about.
"$heed" info drawn > said.txt 2> err.txt || fail "info: $(cat err.txt)"
grep -q '^drawn: image_transformer, ' said.txt || fail "info says $(cat said.txt)"
! grep -q 'tokenizer' said.txt || fail "info says $(cat said.txt)"

# By class, ten in a row; the same seed draws the same.
expect "sample" "one.png: 20 images, 129 x 25" \
  "$("$heed" image sample --model drawn --count 20 --seed 3 --output one.png --attention where.png --pixel 6 6 2> err.txt | head -n 1)"
"$heed" image sample --model drawn --count 20 --seed 3 --output two.png > /dev/null 2>&1
cmp one.png two.png || fail "the same seed drew other images"
"$heed" image sample --model drawn --count 20 --seed 4 --output two.png > /dev/null 2>&1
! cmp -s one.png two.png || fail "another seed drew the same images"
expect "scale" "one.png: 20 images, 387 x 75" \
  "$("$heed" image sample --model drawn --count 20 --scale 3 --output one.png 2> err.txt)"
expect "attention" "PNG" "$(head -c 4 where.png | tail -c 3)"
"$heed" image sample --model drawn --count 4 --class 7 --output seven.png > /dev/null 2>&1
expect_failure "there is no class 99, expected 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or 0 to 9" \
  "$heed" image sample --model drawn --class 99 --output bad.png
expect_failure "--output is bad.jpg, expected a name that ends in .png" "$heed" image sample --model drawn --output bad.jpg
expect_failure "there is no folder no" "$heed" image sample --model drawn --output no/bad.png
expect_failure "[image] pixel 12,0 lies outside 12x12" "$heed" image sample --model drawn --pixel 12 0 --attention bad2.png --output bad.png

# A folder of PNG files, of another size, with a bad one in it.
mkdir -p some/3 some/4
"$heed" image draw digits --count 1 --output some/3/a.png > /dev/null
"$heed" image draw digits --count 1 --seed 2 --output some/4/b.png > /dev/null
echo "no picture" > some/4/c.png
"$heed" eval --model drawn --binarise threshold some > said.txt 2> err.txt || fail "eval: $(cat err.txt)"
grep -qE '^[0-9.]+ nats per image, [0-9.]+ bits per dimension$' said.txt || fail "eval says $(cat said.txt)"
grep -q '^images 2, ' said.txt || fail "eval says $(cat said.txt)"
grep -q 'c.png' err.txt || fail "the bad file is not named: $(cat err.txt)"
"$heed" eval --model drawn --binarise threshold --images 1 some > said.txt 2> err.txt || fail "eval: $(cat err.txt)"
grep -q '^images 1, ' said.txt || fail "eval of one image says $(cat said.txt)"

expect_failure "the model draws by class, but the images have no labels" "$heed" eval --model drawn --binarise threshold some/3/a.png

"$heed" image complete --model drawn --class 3 --count 2 --n 2 some --output halves.png > said.txt 2> err.txt ||
  fail "complete: $(cat err.txt)"
grep -q '^halves.png: 2 images' said.txt || fail "complete says $(cat said.txt)"
# PNG files are understood where MNIST's and CIFAR's files are.
"$heed" image complete --model drawn --class 3 --n 1 some/3/a.png some/4/b.png --output named.png > said.txt 2> err.txt ||
  fail "complete: $(cat err.txt)"
grep -q '^named.png: 2 images' said.txt || fail "complete says $(cat said.txt)"
expect_failure "c.txt is not a PNG file, but some/3/a.png is" "$heed" image complete --model drawn some/3/a.png c.txt --output bad.png
expect_failure "does not enlarge images" "$heed" image upscale --model drawn some --output bad.png

# Super-resolution.
"$heed" train "$recipes/images/digits.toml" --out large "${tiny[@]}" --set image.enlarge=4 --set image.classes=false \
  --set model.encoder_layers=1 > said.txt 2>&1 || fail "train: $(cat said.txt)"
"$heed" image upscale --model large --count 2 some --output large.png > said.txt 2> err.txt ||
  fail "upscale: $(cat err.txt)"
grep -q '^large.png: 2 images' said.txt || fail "upscale says $(cat said.txt)"
"$heed" image upscale --model large --small --count 2 --n 1 some --output larger.png > said.txt 2> err.txt ||
  fail "upscale: $(cat err.txt)"
expect "small ones" "larger.png: 2 images, 25 x 25" "$(cat said.txt)"
expect_failure "heed image upscale" "$heed" image sample --model large --output bad.png

# Colours, and distributions as mixtures.
"$heed" train "$recipes/images/digits.toml" --out mixed "${tiny[@]}" --set image.drawn=shapes --set image.binarise=no \
  --set image.classes=false --set model.output=mixture --set model.mixtures=2 > said.txt 2>&1 || fail "train: $(cat said.txt)"
"$heed" image sample --model mixed --count 2 --output shapes.png > said.txt 2>&1 || fail "sample: $(cat said.txt)"
expect_failure "is not" "$heed" generate --model drawn --prompt x
[[ ! -e bad.png ]] || fail "a file was written in spite of an error"

exit $failed
