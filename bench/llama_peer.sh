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
. bench/support.sh

option=([rounds]=3 [reps]=3 [threads]=2 [types]="f32,bf16,f16,q8_0")
parse_options "$@"
[ ${#arguments[@]} -eq 0 ] || die 2 "unknown option ${arguments[0]} (see --help)"
declare -A ours_for=([f32]=f32 [bf16]=bf16 [f16]=bf16 [q8_0]=int8)
for type in ${option[types]//,/ }; do
  [ -n "${ours_for[$type]:-}" ] || die 2 "type $type is none of f32, bf16, f16, q8_0"
done

find_heed
[ "$(uname -sm)" = "Linux x86_64" ] || die 1 "$(uname -sm) is not supported, only Linux x86_64"
npm_peers node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
words=${HEED_DATA:-../shared/data}/tokenizers/gpt2
vocabulary=()
[ ! -r "$words/gpt2-vocab.json" ] || vocabulary=("$words/gpt2-vocab.json" "$words/gpt2-merges.txt")

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
for type in ${option[types]//,/ }; do
  dtype=${ours_for[$type]}
  model=$peers/gpt2-$type.gguf
  [ "$model" -nt bench/gguf_gpt2.mjs ] || node bench/gguf_gpt2.mjs "$model" "$type" "${vocabulary[@]}"
  decode="" prefill="" our_decode="" our_prefill=""
  for _ in $(seq "${option[rounds]}"); do
    line=$(node bench/llama_peer.mjs "$peers" "$model" "${option[threads]}" "${option[reps]}")
    decode=$(best "$decode" "$(field decode)")
    prefill=$(best "$prefill" "$(field prefill)")
    line=$("$heed" bench gpt-decode --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" --no-floor --json)
    our_decode=$(best "$our_decode" "$(field tokens_per_second)")
    line=$("$heed" bench gpt-prefill --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" --no-floor --json)
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
