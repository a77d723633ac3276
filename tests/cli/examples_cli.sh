#!/usr/bin/env bash
# Runs every example of the documentation: those of `heed COMMAND --help`, and the blocks marked sh in README.md and
# docs/*.md. The models, recipes and files that examples name are tiny stand-ins at the same paths; what an example
# needs and is not made below makes it fail. Examples that cannot run in a test are listed with the reason.
# Usage: tests/cli/examples_cli.sh HEED MUSIC_FOLDER SOURCES
set -Eeuo pipefail
music_folder=$(realpath "$2")
sources=$(realpath "$3")
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

# What is not run: a pattern for the whole example, and why. What it names in the sources has to exist.
declare -A skipped=(
  ["./quickstart.sh"]="installs packages, builds and trains for minutes"
  ["./test.sh"]="runs this test"
  ["bench/compare.sh"]="installs PyTorch"
  ["bench/llama_peer.sh"]="installs llama.cpp"
  ["tools/debian-corpus.sh *"]="downloads Debian's package lists"
  ["node bench/serve_load.mjs *"]="loads a server for a minute"
  ["haproxy *"]="runs until it is stopped; tests/cli/balancer_cli.sh starts it"
  ["*heed data get *"]="downloads; tests/cli/data_cli.sh fetches from a server of its own"
  ["heed convert ctranslate2-folder *"]="needs a CTranslate2 model; tests/models/import_test.cc makes one"
)

if [ ! -x /usr/bin/mpirun ] || [ ! -e "$(dirname "$heed")/heed_mpi.so" ]; then
  skipped["mpirun *"]="MPI is not installed"
fi

# --- stand-ins, all in the folder `tree`
mkdir -p tree/bin tree/build/release tree/runs tree/models
cd tree
stand_in() { # model, names...: the model under every name
  local model=$1
  shift
  for name in "$@"; do
    mkdir -p "$(dirname "$name")"
    cp -r "$model" "$name"
  done
}

# Text: translators, language models, encoders.
"$heed" corpus demo --out demo --train 400 --valid 20 --test 200 > /dev/null
cp demo/train.en train.en
cp demo/train.it train.de
head -30 demo/test.en > test.en
head -30 demo/test.it > test.de
cp test.de test.out
cp demo/test.it hypotheses.it
cp test.de output.de
cp test.de a.de
cp test.de b.de
gzip -c test.de > output.de.gz
for name in sentences faq asked reviews questions other book names wiki long valid tale; do head -20 demo/test.en > $name.txt; done
cp other.txt wiki.test.raw
gzip -c other.txt > ptb.test.txt.gz
paste demo/test.en demo/test.it > summaries.tsv
head -20 summaries.tsv > pairs.tsv
awk '{print $0 "\t" (NR % 2 ? "good" : "bad")}' demo/test.en > labels.tsv
head -5 demo/valid.en > valid.en
head -5 demo/valid.it > valid.de
write_text_recipes 64 512
sed -i 's/text.txt/train.en/; s/^batch_tokens = .*/batch_tokens = 512/' tiny.toml
cat > translate.toml <<'RECIPE'
[data]
source = ["train.en"]
target = ["train.de"]
valid_source = "valid.en"
valid_target = "valid.de"
batch_tokens = 256
[text]
kind = "char"
[model]
width = 16
heads = 2
hidden = 16
encoder_layers = 3
decoder_layers = 3
[train]
precision = "f32"
steps = 5
[validation]
every = 2
[checkpoint]
every = 1
keep = 5
RECIPE
cat > classify.toml <<'RECIPE'
base = "masked.toml"
task = "classify"
[data]
table = ["labels.tsv"]
[train]
steps = 2
RECIPE
printf 'base = "classify.toml"\n[data]\npair_column = "2"\n[model]\nkind = "decomposable_attention"\nembedding = 8\nhidden = 8\n' > entailment.toml
printf 'base = "classify.toml"\n[model]\nkind = "self_attentive"\nembedding = 8\nhidden = 8\nhops = 2\n' > self-attentive.toml
cat > summarise.toml <<'RECIPE'
base = "language.toml"
task = "summarise"
[data]
table = ["summaries.tsv"]
text_column = "1"
pair_column = "2"
[model]
context = 128
RECIPE
cat > parallel.toml <<'RECIPE'
base = "translate.toml"
task = "translate_parallel"
[model]
kind = "parallel_transformer"
input = "copied"
width = 16
heads = 2
hidden = 16
encoder_layers = 3
decoder_layers = 3
RECIPE
printf 'base = "translate.toml"\n[model]\nkind = "universal_transformer"\nwidth = 16\nhidden = 16\nheads = 2\n' > universal.toml
printf 'base = "language.toml"\n[model]\nkind = "universal_language"\ncontext = 64\nwidth = 16\nhidden = 16\nheads = 2\n' > universal-language.toml
printf 'base = "classify.toml"\n[model]\nkind = "universal_encoder"\nlongest = 64\nwidth = 16\nhidden = 16\nheads = 2\n' > universal-encoder.toml
cat > algorithm.toml <<'RECIPE'
task = "algorithm"
[data]
longest = 8
test_lengths = [8, 16]
test_examples = 2
valid_examples = 4
examples = 50
batch_tokens = 128
[model]
kind = "universal_transformer"
width = 16
heads = 2
hidden = 16
[train]
precision = "f32"
steps = 2
RECIPE
printf 'base = "parallel.toml"\n[model]\ninput = "masked"\n' > refine.toml
cat > blockwise.toml <<'RECIPE'
base = "translate.toml"
task = "translate_blockwise"
[model]
kind = "blockwise_transformer"
block = 3
[train]
from = "translate.model"
RECIPE
cat > latent.toml <<'RECIPE'
base = "translate.toml"
task = "translate_latent"
[model]
kind = "latent_transformer"
width = 16
heads = 2
hidden = 16
encoder_layers = 1
decoder_layers = 1
RECIPE
cat > deep.toml <<'RECIPE'
base = "language.toml"
task = "deep_language"
[model]
kind = "character_transformer"
layers = 2
RECIPE
for name in masked language; do sed -i 's/^steps = .*/steps = 2/' $name.toml; done
printf 'base = "language.toml"\n[train]\naccumulate = 240\n' > planned.toml # a multiple of what meshes have along batch
printf 'base = "language.toml"\n[data]\nmax_length = 16\n[model]\nkind = "transformer_xl"\nmemory = 16\nlayers = 1\nwidth = 16\nheads = 2\n' > segments.toml
for name in translate universal parallel refine blockwise masked classify entailment self-attentive language segments deep summarise; do
  train_tiny $name.toml $name.model
done
stand_in translate.model runs/demo runs/multi30k runs/m30k runs/mine runs/a runs/b
stand_in universal.model runs/multi30k-universal
stand_in parallel.model runs/multi30k-parallel
stand_in refine.model runs/multi30k-refine
stand_in blockwise.model runs/multi30k-blockwise
stand_in language.model gpt2 gpt2-xl gpt2-int8 runs/shakespeare runs/shakespeare-char-small runs/ptb runs/books
stand_in deep.model runs/books-deep runs/books-plain runs/books-64
stand_in segments.model runs/ptb-xl runs/books-xl
stand_in summarise.model runs/summaries runs/summarise-debian
stand_in masked.model bert-base-uncased all-MiniLM-L6-v2 runs/sst2-masked
stand_in classify.model runs/sst2-fine-tune
stand_in entailment.model runs/sick-entailment-decomposable
stand_in self-attentive.model runs/sst2-self-attentive
rm -r gpt2-int8
"$heed" convert gpt2 --dtype int8 --output gpt2-int8 > /dev/null
"$heed" tokenizer train train.de train.en --vocabulary 300 --output tokenizer.model > /dev/null 2>&1
"$heed" tokenizer encode --tokenizer tokenizer.model test.de > test.pieces
"$heed" tokenizer encode --tokenizer tokenizer.model --ids test.de > test.ids
cp translate.toml my.toml
echo key > keys.txt

# Stories.
mkdir -p babi/test_A
for ((i = 0; i < 20; i++)); do
  printf '1 Mary went to the garden.\n2 John went to the kitchen.\n3 Where is Mary?\tgarden\t1\n4 Where is John?\tkitchen\t2\n'
done | tee qa1_train.txt > babi/test_A/qa1_test.txt
cp qa1_train.txt story.txt
cat > questions.toml <<'RECIPE'
task = "questions"
[data]
stories = ["qa1_train.txt"]
valid_share = 0.2
batch_tokens = 128
[model]
kind = "story_transformer"
width = 16
heads = 2
hidden = 16
layers = 2
[train]
steps = 2
precision = "f32"
RECIPE
printf 'base = "questions.toml"\n[model]\nkind = "memory_network"\nwidth = 16\n' > memory.toml
train_tiny questions.toml questions.model
train_tiny memory.toml memory.model
stand_in questions.model runs/babi-universal
stand_in memory.model runs/babi-memory

# Images.
tiny_image='[image]
rows = 16
columns = 16
[data]
batch_tokens = 1152
[model]
width = 16
heads = 2
layers = 1
hidden = 32
block_rows = 4
block_columns = 4
memory_rows = 4
memory_columns = 4
[train]
steps = 1
[validation]
every = 2'
{ echo "base = \"$sources/recipes/images/digits.toml\""; echo "$tiny_image"; } > digits.toml
train_tiny digits.toml digits.model
printf 'base = "digits.toml"\n[image]\nenlarge = 4\nclasses = false\n[model]\nencoder_layers = 1\n' > enlarge.toml
train_tiny enlarge.toml enlarge.model
cat > enlarge-blockwise.toml <<'RECIPE'
base = "enlarge.toml"
task = "image_blockwise"
[model]
kind = "blockwise_image_transformer"
proposals = 2
[train]
from = "enlarge.model"
RECIPE
train_tiny digits.toml shapes.model --set image.drawn=shapes --set image.binarise=no --set image.classes=false \
  --set model.output=mixture --set model.mixtures=2
stand_in digits.model runs/digits
printf 'base = "digits.toml"\n[image]\nclasses = false\n' > mnist.toml
train_tiny mnist.toml runs/mnist
train_tiny enlarge-blockwise.toml enlarge-blockwise.model
stand_in enlarge.model runs/mnist-enlarge
stand_in enlarge-blockwise.model runs/mnist-enlarge-blockwise
stand_in shapes.model runs/cifar
mkdir cifar10 thumbnails
head -c $((3073 * 4)) /dev/zero > cifar10/test_batch.bin
{ printf '\0\0\10\3\0\0\0\12\0\0\0\34\0\0\0\34'; head -c $((10 * 28 * 28)) /dev/zero; } | gzip > t10k-images-idx3-ubyte.gz
"$heed" image draw digits --count 1 --output thumbnails/one.png > /dev/null
"$heed" image draw photo --side 64 --output photo.png > /dev/null
"$heed" image draw photo --side 64 --noise 25 --output noisy.png > /dev/null
"$heed" image draw photo --side 16 --output bricks.png > /dev/null
"$heed" image draw photo --side 1024 --output data_batch_2.png > /dev/null
awk 'BEGIN {for (i = 0; i < 12000; i++) printf (i ? ",0" : "[0"); print "]"}' > train_lables.json

# Music.
"$music_folder" piano.model performance
"$music_folder" harmonise.model chorale accompany
stand_in piano.model runs/piano
stand_in harmonise.model runs/jsb-harmonise
echo '372 60 305 188 62 305 190 64 305 192 65 305 193' > sonata.txt
mkdir performances
for name in theme tune sonata performances/one performances/two; do
  "$heed" music decode sonata.txt --output $name.mid > /dev/null
done
mkdir -p data/jsb-chorales
awk 'BEGIN {
  for (i = 0; i < 64; i++) steps = steps (i ? "," : "") "[72,67,64,48]"
  print "{\"train\":[[" steps "],[" steps "]],\"valid\":[[" steps "]],\"test\":[[" steps "]]}"
}' | gzip > data/jsb-chorales/Jsb16thSeparated.json.gz
export HEED_DATA=$PWD/data

# Recipes: for each of the sources a tiny one of the same task at the same place.
(cd "$sources" && find recipes -name '*.toml') | while read -r recipe; do
  mkdir -p "$(dirname "$recipe")"
  case $recipe in
    recipes/translation/*-parallel.toml) base=parallel.toml ;;
    recipes/translation/*-refine.toml) base=refine.toml ;;
    recipes/translation/*-blockwise.toml) base=blockwise.toml ;;
    recipes/translation/*-latent*.toml) base=latent.toml ;;
    recipes/translation/*) base=translate.toml ;;
    recipes/algorithms/*) base=algorithm.toml ;;
    recipes/language/*-universal.toml) base=universal-language.toml ;;
    recipes/understanding/*-universal.toml) base=universal-encoder.toml ;;
    recipes/language/summarise-*) base=summarise.toml ;;
    recipes/language/books-deep.toml | recipes/language/books-plain.toml | recipes/language/books-64.toml) base=deep.toml ;;
    recipes/language/gpt2-xl.toml | recipes/language/mesh-5b.toml) base=planned.toml ;;
    recipes/language/*-xl.toml) base=segments.toml ;;
    recipes/language/*) base=language.toml ;;
    recipes/understanding/*-masked.toml) base=masked.toml ;;
    recipes/understanding/sick-entailment-decomposable.toml) base=entailment.toml ;;
    recipes/understanding/sst2-self-attentive.toml) base=self-attentive.toml ;;
    recipes/understanding/*) base=classify.toml ;;
    recipes/questions/*) base=questions.toml ;;
    recipes/images/mnist-enlarge.toml) base=enlarge.toml ;;
    recipes/images/mnist-enlarge-blockwise.toml) base=enlarge-blockwise.toml ;;
    recipes/images/mnist*) base=mnist.toml ;;
    recipes/images/*) base=digits.toml ;;
    recipes/music/*) base= ;;
    *) fail "there is no tiny recipe for $recipe" ;;
  esac
  if [ -n "$base" ]; then
    echo "base = \"../../$base\"" > "$recipe"
  else
    printf 'base = "%s"\n[data]\nmax_length = 64\nbatch_tokens = 64\n[model]\nwidth = 16\nheads = 2\nhidden = 16\n' \
      "$sources/$recipe" > "$recipe"
    case $recipe in
      */jsb-harmonise.toml) printf 'encoder_layers = 1\ndecoder_layers = 1\n' ;;
      *) printf 'layers = 1\n' ;;
    esac >> "$recipe"
    printf '[train]\nsteps = 1\n' >> "$recipe"
  fi
done

train_tiny recipes/music/music-demo.toml runs/music-demo
train_tiny recipes/music/music-demo-plain.toml runs/music-demo-plain

# The program as examples call it. A training begins in a folder that is not there, and what it leaves is as tiny as what
# was there. What a benchmark measures takes minutes, so that only its names are looked at. A server runs until the next one, or the end.
cat > bin/heed <<WRAPPER
#!/usr/bin/env bash
set -euo pipefail
heed=$heed
WRAPPER
cat >> bin/heed <<'WRAPPER'
arguments=("$@")
value_of() { # option
  for ((i = 0; i < ${#arguments[@]}; i++)); do
    [ "${arguments[i]}" != "$1" ] || echo "${arguments[i + 1]}"
  done
}
case " $* " in
  " train "*" --resume "* | " train --keys "*) ;;
  " train "*)
    out=$(value_of --out)
    # Of several processes the first one: none looks at the folder before all have met.
    [ "${OMPI_COMM_WORLD_RANK:-0}" != 0 ] || rm -rf "${out:-runs/$(basename "$2" .toml)}"
    ;;
  " tokenizer train "* | " average "* | " convert "* | " distil "*) arguments+=(--force) ;;
  " compare decoders "*) arguments+=(--reps 1 --sentences 4) ;;
  " corpus demo "*) arguments+=(--force --train 400 --valid 20 --test 200) ;;
  " image draw photo "*) arguments+=(--side 64) ;;
  " bench ops "*) arguments+=(--reps 1) ;;
  " bench "*)
    for word in "${@:2}"; do
      [[ $word != --* ]] || break
      "$heed" bench --help | grep -qE "^  $word " || { echo "heed bench has no case $word" >&2; exit 1; }
    done
    exit 0
    ;;
  " serve "*)
    rm -f ../server.log # of the one before
    touch ../server.log
    "$heed" "$@" --port 0 2>> ../server.log > /dev/null &
    echo $! > ../server.pid
    for ((i = 0; i < 300; i++)); do
      ! grep -q '^listening on' ../server.log || exit 0
      kill -0 $! 2> /dev/null || break
      sleep 0.1
    done
    cat ../server.log >&2
    exit 1
    ;;
esac
exec "$heed" "${arguments[@]}"
WRAPPER
cp bin/heed build/release/heed
cat > bin/curl <<'WRAPPER'
#!/usr/bin/env bash
# To the server that runs, wherever an example believes it to be.
port=$(sed -n 's|^listening on .*:\([0-9]*\)/$|\1|p' ../server.log)
arguments=()
for argument in "$@"; do arguments+=("$(sed -E "s#http://(127.0.0.1|server):8080#http://127.0.0.1:$port#" <<< "$argument")"); done
exec /usr/bin/curl --silent --show-error --fail --max-time 20 "${arguments[@]}"
WRAPPER
cat > bin/mpirun <<'WRAPPER'
#!/usr/bin/env bash
# Also as root, and on a machine with few cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec /usr/bin/mpirun --oversubscribe --bind-to none "$@"
WRAPPER
chmod +x bin/* build/release/heed
cd ..

# --- the examples: lines of "PLACE TAB COMMAND"
joined() { # commands of several lines become one
  sed -e ':more' -e '/\\$/{N' -e 's/ *\\\n */ /' -e 'b more' -e '}'
}
help_examples() { # command...
  "$heed" "$@" --help > help.txt
  sed -n '/^Examples\{0,1\}:$/,$p' help.txt | joined | sed -n "s/^  \([^#]\)/heed $* --help\t\1/p"
  sed -n '/^Commands:$/,/^$/s/^  \([a-z]\+\) .*/\1/p' help.txt | while read -r name; do
    help_examples "$@" "$name"
  done
}
{
  "$heed" help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | while read -r name; do help_examples "$name"; done
  (cd "$sources" && ls README.md docs/*.md) | while read -r file; do
    sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$sources/$file" | joined | sed -n "s#^\(.\)#$file\t\1#p"
  done
} > examples.txt

reason_to_skip() { # example; the reason on standard output
  for pattern in "${!skipped[@]}"; do
    # shellcheck disable=SC2053
    if [[ $1 == $pattern ]]; then
      echo "${skipped[$pattern]}"
      return
    fi
  done
}
stop_server() {
  [ ! -e server.pid ] || kill "$(cat server.pid)" 2> /dev/null || true
  rm -f server.pid
}
trap 'stop_server; rm -rf "$folder"' EXIT

count=0
while IFS=$'\t' read -r place example; do
  bare=$(sed -E 's/ +# .*//; s/ +$//' <<< "$example")
  if [ -n "$(reason_to_skip "$bare")" ]; then
    for word in $bare; do
      [[ $word != */* || $word == *:* || $word == corpora/* || $word == *=* || $word == models/* || $word == runs/* || $word == build/* || -e $sources/$word ]] ||
        fail "$place: $word of \"$bare\" does not exist"
    done
    continue
  fi
  [[ $bare != *"heed serve "* ]] || stop_server
  status=0
  (cd tree && PATH=$PWD/bin:$PATH timeout 60 bash -euo pipefail -c "$example") < /dev/null > out.txt 2> err.txt || status=$?
  [ $status -eq 0 ] || fail "$place: $bare: status $status, $(tail -3 err.txt)"
  count=$((count + 1))
done < examples.txt
[ $count -gt 80 ] || fail "only $count examples were found"

[ $failed -eq 0 ] && echo "all is well: $count examples"
exit $failed
