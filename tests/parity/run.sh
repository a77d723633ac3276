#!/bin/bash
# Small models in Heed and in PyTorch on the same weights; 77 where PyTorch is absent.
#   run.sh PARITY_DUMP
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${HEED_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "skipped: no PyTorch in $python; install python3-torch, or set HEED_PYTHON"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder"
"$python" "$here/torch_parity.py" "$folder"
"$python" "$here/folder_parity.py" "$folder/folders"
