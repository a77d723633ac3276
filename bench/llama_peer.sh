#!/usr/bin/env bash
# Heed beside llama.cpp on GPT-2 124M: decoding and prompt processing, both run alternately in one go.
#
# usage: bench/llama_peer.sh [--json] [--rounds N] [--reps N] [--threads N] [--types f32,bf16,f16,q8_0]
#
# llama.cpp is the build for this CPU that npm's node-llama-cpp carries; it gets random weights in GGUF of each of the
# types (bench/gguf_gpt2.mjs, kept in build/peers) and, with and without flash attention, the better counts.
# Beside its f16 stands Heed's bf16, beside its q8_0 Heed's int8. Decoding: 128 new tokens after 16, batch 1, greedy.
# Prompt: 512 tokens. The best of all repetitions counts for both.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/npm_peers.sh

json=false rounds=3 reps=3 threads=2 types=f32,bf16,f16,q8_0
while [ $# -gt 0 ]; do
  case $1 in
    --rounds|--reps|--threads|--types) [ $# -ge 2 ] || { echo "llama_peer.sh: $1 needs a value" >&2; exit 2; } ;;
  esac
  case $1 in
    --json) json=true ;;
    --rounds) rounds=$2; shift ;;
    --reps) reps=$2; shift ;;
    --threads) threads=$2; shift ;;
    --types) types=$2; shift ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "llama_peer.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
for number in "$rounds" "$reps" "$threads"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "llama_peer.sh: $number is no positive number" >&2; exit 2; }
done
declare -A ours_for=([f32]=f32 [bf16]=bf16 [f16]=bf16 [q8_0]=int8)
for type in ${types//,/ }; do
  [ -n "${ours_for[$type]:-}" ] || { echo "llama_peer.sh: type $type is none of f32, bf16, f16, q8_0" >&2; exit 2; }
done

heed=${HEED:-build/release/heed}
[ -x "$heed" ] || { echo "llama_peer.sh: $heed is not built; run: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "llama_peer.sh: $(uname -sm) is not supported, only Linux x86_64" >&2; exit 1; }
npm_peers node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
words=${HEED_DATA:-../shared/data}/tokenizers/gpt2
vocabulary=()
[ ! -r "$words/gpt2-vocab.json" ] || vocabulary=("$words/gpt2-vocab.json" "$words/gpt2-merges.txt")

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
best() { awk -v a="$1" -v b="$2" 'BEGIN {print (b > a) ? b : a}'; }
field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" <<< "$line"; }
for type in ${types//,/ }; do
  dtype=${ours_for[$type]}
  model=$peers/gpt2-$type.gguf
  [ "$model" -nt bench/gguf_gpt2.mjs ] || node bench/gguf_gpt2.mjs "$model" "$type" "${vocabulary[@]}"
  decode=0 prefill=0 our_decode=0 our_prefill=0
  for _ in $(seq "$rounds"); do
    line=$(node bench/llama_peer.mjs "$peers" "$model" "$threads" "$reps")
    decode=$(best "$decode" "$(field decode)")
    prefill=$(best "$prefill" "$(field prefill)")
    line=$("$heed" bench gpt-decode --dtype "$dtype" --threads "$threads" --reps "$reps" --no-floor --json)
    our_decode=$(best "$our_decode" "$(field tokens_per_second)")
    line=$("$heed" bench gpt-prefill --dtype "$dtype" --threads "$threads" --reps "$reps" --no-floor --json)
    our_prefill=$(best "$our_prefill" "$(field tokens_per_second)")
  done
  printf '%s\n' "gpt-decode $dtype $type $decode $our_decode" "gpt-prefill $dtype $type $prefill $our_prefill" >> "$rows"
  tail -n 2 "$rows" | awk '{printf "%s: llama.cpp %s %.1f, Heed %s %.1f tokens/s\n", $1, $3, $4, $2, $5}' >&2
done

if $json; then
  awk 'BEGIN {printf "["} {printf "%s{\"case\":\"%s\",\"dtype\":\"%s\",\"llama_type\":\"%s\",\"llama\":%s,\"heed\":%s,\"ratio\":%.3f}", (NR>1?",":""), $1, $2, $3, $4, $5, $5/$4} END {print "]"}' "$rows"
else
  awk 'BEGIN {printf "%-12s %-5s %-9s %14s %12s %8s\n", "case", "Heed", "llama.cpp", "llama.cpp t/s", "Heed t/s", "ratio"}
       {printf "%-12s %-5s %-9s %14.1f %12.1f %7.2fx\n", $1, $2, $3, $4, $5, $5/$4}' "$rows"
fi
