#!/usr/bin/env bash
# From a fresh Debian 12 to a translator: installs what is missing, builds, trains a small Transformer on the built-in
# English-Italian corpus, tests it on sentences it has never seen, and draws what it attends to. Run again, it trains
# nothing anew.
set -euo pipefail
cd "$(dirname "$0")"

run=runs/demo
heed=build/release/heed
say() { printf '\n== %s\n' "$*"; }

say "building"
tools/install-deps.sh build
cmake --preset release -DHEED_BUILD_TESTS=OFF
cmake --build --preset release

if [[ -e $run/trained ]]; then
  say "the translator in $run is trained already"
else
  say "training on the built-in corpus, one to two minutes on two cores"
  resume=()
  [[ -e $run/recipe.json ]] && resume=(--resume)
  $heed train recipes/translation/demo.toml --out $run "${resume[@]}"
  touch $run/trained
fi

say "1,000 held-out sentences"
$heed translate --model $run $run/data/test.en >$run/test.it
$heed score --metric bleu --reference $run/data/test.it $run/test.it
$heed corpus ambiguous --cases $run/data/test.ambiguous.tsv $run/test.it

say "words whose meaning the context decides"
examples='To open the account, the woman looked for the bank.
To wash the horse, the woman looked for the bank.
The animal did not cross the street because it was too tired.
The animal did not cross the street because it was too wide.
The lion chased the zebra.
The zebra chased the lion.'
paste -d'\n' <(echo "$examples") <(echo "$examples" | $heed translate --model $run | sed 's/^/    /')

say "what it attends to"
$heed attention --model $run --source "The animal did not cross the street because it was too tired." \
  --output $run/attention.html

say "done; what next"
cat <<NEXT
  echo 'The lion chased the zebra.' | $heed translate --model $run
  open $run/attention.html in a browser: every layer and head
  tools/debian-corpus.sh it corpora/debian-it     real text: 145,000 pairs of Debian's translated descriptions
  $heed train recipes/translation/debian-en-it.toml
  $heed train --keys                              all that a recipe can say; docs/translation.md explains
NEXT
