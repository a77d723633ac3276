# Sourced by tests of the server, after tests/cli/support.sh, with $music_folder and $recipes set: makes tiny models of
# every kind in the test's folder and starts servers. Models: language, masked, classes, pairs (a translator), stories, digits,
# larger (enlarges), piano, harmonise (accompanies).
export OMP_NUM_THREADS=1

server=
end_server() {
  if [ -n "$server" ]; then
    kill "$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
  fi
  server=
}
trap 'end_server; rm -rf "$folder"' EXIT

start() { # options...; sets $base
  : > server.log
  "$heed" serve --port 0 "$@" > out.txt 2> server.log &
  server=$!
  base=
  for ((i = 0; i < 300; i++)); do
    base=$(sed -n 's|^listening on \(http://127.0.0.1:[0-9]*\)/$|\1|p' server.log)
    [ -z "$base" ] || return 0
    kill -0 "$server" 2> /dev/null || break
    sleep 0.1
  done
  echo "the server does not start: $(cat server.log)" >&2
  exit 1
}

write_sentences
for ((i = 0; i < 40; i++)); do
  printf 'the cat saw a bird\tcat\na bird saw the dog\tdog\nthe cat\tcat\na dog\tdog\n'
done > labels.tsv
write_text_recipes 32 256
cat > classes.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["labels.tsv"]
[train]
from = "masked"
RECIPE
for ((i = 0; i < 20; i++)); do
  printf '1 the cat ran\n2 a dog saw the cat\n3 who ran?\tcat\t1\n4 who saw the cat?\tdog\t2\n'
done > qa1_train.txt
cat > stories.toml <<'RECIPE'
task = "questions"
[data]
stories = ["qa1_train.txt"]
batch_tokens = 128
[model]
kind = "story_transformer"
width = 16
heads = 2
hidden = 16
layers = 3
sentence = 64
[train]
steps = 10
precision = "f32"
RECIPE
write_reversed_words 200 abcdef 2 3
write_reversed_recipe
cat > pairs.toml <<'RECIPE'
base = "reversed.toml"
[train]
steps = 120
RECIPE
tiny_image=(--set image.rows=12 --set image.columns=12 --set data.batch_tokens=1152 --set model.width=16
  --set model.heads=2 --set model.layers=1 --set model.hidden=32 --set model.block_rows=4
  --set model.block_columns=4 --set model.memory_rows=4 --set model.memory_columns=4 --set train.steps=2
  --set validation.every=2)
for name in language masked classes pairs stories; do
  train_tiny $name.toml $name
done
train_tiny "$recipes/images/digits.toml" digits "${tiny_image[@]}"
train_tiny "$recipes/images/digits.toml" larger "${tiny_image[@]}" --set image.enlarge=4 --set image.classes=false \
  --set model.encoder_layers=1
"$music_folder" piano performance
"$music_folder" harmonise chorale accompany

