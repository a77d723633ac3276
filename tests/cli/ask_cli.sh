#!/usr/bin/env bash
# Questions about stories: `heed train` with the task `questions`, `heed ask` and `heed eval`.
# Usage: tests/cli/ask_cli.sh HEED
set -Eeuo pipefail
. "$(dirname "$0")/support.sh"
export OMP_NUM_THREADS=1

for ((i = 0; i < 40; i++)); do
  printf '1 Mary went to the garden.\n2 John went to the kitchen.\n3 Where is Mary?\tgarden\t1\n4 Where is John?\tkitchen\t2\n'
  printf '1 John went to the garden.\n2 Mary went to the kitchen.\n3 Where is Mary?\tkitchen\t2\n4 Where is John?\tgarden\t1\n'
done > qa1_walks_train.txt
head -8 qa1_walks_train.txt > qa1_walks_test.txt
cat > memory.toml <<'RECIPE'
task = "questions"
[data]
stories = ["qa1_walks_train.txt"]
test_stories = ["qa1_walks_test.txt"]
valid_share = 0.1
batch_tokens = 128
[model]
kind = "memory_network"
width = 16
memory = 8
[train]
steps = 150
precision = "f32"
[schedule]
kind = "constant"
rate = 0.02
warmup = 0
RECIPE
cat > universal.toml <<'RECIPE'
base = "memory.toml"
[model]
kind = "story_transformer"
width = 16
heads = 2
hidden = 16
layers = 3
[train]
steps = 2
RECIPE
"$heed" train memory.toml --check > out.txt 2>&1 || fail "--check: $(cat out.txt)"
train_tiny memory.toml memory
grep -q '^test: mean error 0.00 % over 1 tasks, of which 0 fail (over 5 %), 4 questions$' memory.log ||
  fail "the test: $(tail -3 memory.log)"
train_tiny universal.toml universal

# Answers, from files of both forms and from a pipe.
expect "answers" "garden kitchen kitchen garden" "$("$heed" ask --model memory qa1_walks_test.txt | xargs)"
printf 'Mary went to the garden.\nJohn went to the kitchen.\nWhere is Mary?\n\nMary went to the kitchen.\nWhere is Mary?\n' > plain.txt
expect "answers to plain lines" "garden kitchen" "$("$heed" ask --model memory plain.txt | xargs)"
expect "answers to a pipe" "garden kitchen" "$("$heed" ask --model memory < plain.txt | xargs)"
expect_answer_at_once "Where is Mary?" "$heed" ask --model memory
"$heed" ask --model memory --probabilities --facts plain.txt > out.txt
expect "lines" 8 "$(wc -l < out.txt)"
grep -qE '^garden	garden=(1|0\.[5-9])' out.txt || fail "probabilities: $(cat out.txt)"
grep -qE '^  hop 3: [01]\.[0-9]{2} "' out.txt || fail "facts: $(cat out.txt)"
"$heed" ask --model universal --facts plain.txt > out.txt
grep -qE '^  layer 1: ' out.txt || fail "layers: $(cat out.txt)"
grep -qE '^  steps: [1-3] [1-3], the question [1-3]$' out.txt || fail "steps: $(cat out.txt)"

# Pictures, one a question.
"$heed" ask --model memory --output hops.svg plain.txt > /dev/null
for name in hops-1.svg hops-2.svg; do grep -q 'hop 3' $name || fail "$name has no hop 3"; done
"$heed" ask --model universal --output look.png plain.txt > /dev/null
[ "$(head -c 4 look-2.png | tail -c 3)" = PNG ] || fail "look-2.png is no PNG"

# Errors task by task, of files and folders.
mkdir tests
cp qa1_walks_test.txt tests/qa1_walks_test.txt
printf '1 Mary went to the garden.\n2 Who is there?\tnobody\n' > tests/qa2_odd_test.txt
"$heed" eval --model memory tests > out.txt
expect "the mean error" "mean error 50.00 % over 2 tasks, of which 1 fail (over 5 %), 5 questions" "$(head -1 out.txt)"
expect "the errors" "0.00 % qa1_walks 100.00 % qa2_odd" "$(tail -2 out.txt | xargs)"

expect_error "has no question: a question is a line that ends with a question mark" "$heed" ask --model memory memory.toml
printf '1 Mary is here.\n3 Where?\n' > odd.txt
expect_error "[odd.txt:2] the line has the number 3, expected 2, or 1 for a new story" "$heed" ask --model memory odd.txt
expect_error "[stories] the sentence \"" "$heed" ask --model memory <(printf 'a %.0s' {1..40}; echo '?')
expect_error "--output" "$heed" ask --model memory --output look.gif plain.txt
expect_error "names no training data: set data.stories" "$heed" train memory.toml --out none --set 'data.stories=[]'
exit $failed
