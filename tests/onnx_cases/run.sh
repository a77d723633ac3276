#!/bin/bash
# Runs the program on the operator cases, from the repository's root; 77 where the data is absent.
set -eu
data=${HEED_DATA:-../shared/data}/operator-cases/cases.jsonl.gz
if [ ! -f "$data" ]; then
  echo "skipped: no data at $data"
  exit 77
fi
exec "$1" "$data"
