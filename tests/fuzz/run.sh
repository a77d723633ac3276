#!/bin/sh
# Fuzzes every parser for SECONDS each: tests/fuzz/run.sh [SECONDS]. What was found interesting stays in
# build/fuzz/corpus for the next run; an input that breaks a parser is kept as build/fuzz/found/<name>-*.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}

cmake --preset fuzz > /dev/null
cmake --build --preset fuzz --target fuzz
mkdir -p build/fuzz/found
for program in build/fuzz/fuzz/*; do
  name=$(basename "$program")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  set -- "$corpus" "tests/fuzz/seeds/$name"
  if [ -e "tests/fuzz/$name.dict" ]; then
    set -- "-dict=tests/fuzz/$name.dict" "$@"
  fi
  echo "== $name: $seconds seconds"
  "$program" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="build/fuzz/found/$name-" "$@"
done
