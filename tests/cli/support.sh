# Sourced by the tests of the program, whose first argument it is: $heed. They go on in an empty folder, which is
# removed at their end, and end with `exit $failed`.
heed=$(realpath "$1")
folder=$(mktemp -d)
# A background process that a signal ends before it runs its command would run the trap, too.
trap '[ $BASHPID != $$ ] || rm -rf "$folder"' EXIT
cd "$folder"

failed=0
fail() {
  echo "failed: $*" >&2
  failed=1
}
expect() { # what, expected, found
  [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""
}
# Runs a command that must fail with status 1 or 2 and say the text on standard error. What it says goes to out.txt
# and err.txt.
expect_failure() { # text, command...
  local text=$1 status=0
  shift
  "$@" > out.txt 2> err.txt || status=$?
  [ $status -eq 1 ] || [ $status -eq 2 ] || fail "$*: status $status"
  grep -qF -- "$text" err.txt || fail "$*: expected \"$text\", found \"$(cat err.txt)\""
}
# The same, with one line on standard error and nothing on standard output.
expect_error() { # text, command...
  expect_failure "$@"
  shift
  [ ! -s out.txt ] || fail "$*: says \"$(cat out.txt)\" on standard output"
  expect "$*: lines on standard error" 1 "$(wc -l < err.txt)"
}

# Runs a command that must answer its first line of standard input before a second one comes.
expect_answer_at_once() { # line, command...
  local line=$1 i
  shift
  rm -f answered late
  {
    echo "$line"
    for ((i = 0; i < 300; i++)); do
      [ -e answered ] && break
      sleep 0.1
    done
    [ -e answered ] || touch late
    echo "$line"
  } | "$@" | {
    read -r line
    touch answered
    cat > /dev/null
  }
  [ ! -e late ] || fail "$*: the first answer waits for more input"
}

# What tiny models are trained on: words and the same words backwards, and sentences.
write_reversed_words() { # how many, letters, shortest, lengths; to train.src and train.tgt
  awk -v count="$1" -v letters="$2" -v shortest="$3" -v lengths="$4" 'BEGIN {
    srand(1)
    for (i = 0; i < count; i++) {
      word = reversed = ""
      for (left = shortest + int(rand() * lengths); left > 0; left--) {
        letter = substr(letters, 1 + int(rand() * length(letters)), 1)
        word = word letter
        reversed = letter reversed
      }
      print word > "train.src"
      print reversed > "train.tgt"
    }
  }'
}
write_reversed_recipe() { # of a translator that learns them; to reversed.toml
  cat > reversed.toml <<'RECIPE'
[data]
source = ["train.src"]
target = ["train.tgt"]
max_length = 31
batch_tokens = 512
[text]
kind = "char"
[model]
width = 32
heads = 4
hidden = 64
encoder_layers = 1
decoder_layers = 1
dropout = 0.0
[train]
label_smoothing = 0.0
precision = "f32"
[schedule]
kind = "inverse_sqrt"
rate = 1e-2
warmup = 20
RECIPE
}
write_sentences() { # to text.txt
  for ((i = 0; i < 60; i++)); do
    printf 'the cat saw the dog\nthe dog saw a bird\na bird saw the cat\n'
  done > text.txt
}
# Recipes of tiny models of these sentences: an encoder in masked.toml, of pieces of words, and a language model in
# language.toml, of characters.
write_text_recipes() { # tokens that the encoder can see, and the language model
  cat > tiny.toml <<'RECIPE'
[data]
text = ["text.txt"]
batch_tokens = 256
[train]
precision = "f32"
label_smoothing = 0.0
[schedule]
kind = "constant"
rate = 1e-2
warmup = 0
RECIPE
  cat > masked.toml <<RECIPE
base = "tiny.toml"
task = "masked"
[data]
max_length = $1
[text]
kind = "wordpiece"
vocabulary = 100
[model]
width = 16
heads = 2
hidden = 32
layers = 1
longest = $1
dropout = 0.0
attention_dropout = 0.0
head_dropout = 0.0
initializer_range = 0.1
[train]
steps = 30
RECIPE
  cat > language.toml <<RECIPE
base = "tiny.toml"
task = "language"
[text]
kind = "char"
[model]
context = $2
width = 16
heads = 2
layers = 1
[train]
steps = 60
RECIPE
}
train_tiny() { # recipe, folder, options...; what is said goes to FOLDER.log
  "$heed" train "$1" --out "$2" "${@:3}" > "$2.log" 2>&1 || { cat "$2.log" >&2; exit 1; }
}
