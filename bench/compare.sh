#!/usr/bin/env bash
# Heed beside PyTorch on the same work: runs both alternately in one go and prints the ratios.
#
# usage: bench/compare.sh [--json] [--rounds N] [--reps N] [--threads N] [--dtype f32,bf16] [CASE...]
#
# PyTorch is Debian's python3-torch with libopenblas0-openmp, installed if missing, and gets its best setting:
# - where OpenBLAS does not know the CPU and would fall back to SSE kernels, OPENBLAS_CORETYPE names the closest one;
# - where its oneDNN dies on AMX (virtual machines that hide the tiles from CPUID), AMX is switched off for it.
# Both are printed when they apply. The peer program is bench/torch_peer.py, or the one HEED_TORCH_PEER names.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/support.sh

option=([rounds]=3 [reps]=5 [threads]=2 [dtype]="f32,bf16")
parse_options "$@"
cases=("${arguments[@]}")
[ ${#cases[@]} -gt 0 ] || cases=(mt-train gpt-train gpt-decode bert-embed attn rel-attn)
find_heed
tools/install-deps.sh peer >&2
peer=${HEED_TORCH_PEER:-bench/torch_peer.py}
python=/usr/bin/python3

# The settings that PyTorch needs on this machine.
note=""
if grep -qw avx512f /proc/cpuinfo; then
  model=$(awk '/^model\t/ {print $3; exit}' /proc/cpuinfo)
  # OpenBLAS 0.3.21 knows Sapphire Rapids (143) and older; a newer model falls back to far slower kernels.
  if [ "$model" -gt 143 ] && [ -z "${OPENBLAS_CORETYPE:-}" ]; then
    export OPENBLAS_CORETYPE=SkylakeX
    note+="OPENBLAS_CORETYPE=SkylakeX "
  fi
fi
probe='import torch; x = torch.ones(256, 256).bfloat16(); torch.nn.functional.linear(x, x)'
if ! "$python" -c "$probe" > /dev/null 2>&1; then
  export DNNL_MAX_CPU_ISA=AVX512_CORE_BF16
  note+="DNNL_MAX_CPU_ISA=AVX512_CORE_BF16 (its oneDNN dies on AMX here) "
fi
[ -z "$note" ] || echo "PyTorch runs with: $note" >&2

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
for name in "${cases[@]}"; do
  for dtype in ${option[dtype]//,/ }; do
    torch="" torch_mib="" ours="" ours_mib="" floor=""
    for _ in $(seq "${option[rounds]}"); do
      line=$("$python" "$peer" "$name" --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" | tail -1)
      torch=$(best "$torch" "$(awk '{print $3}' <<< "$line")")
      torch_mib=$(least "$torch_mib" "$(awk '{print $6}' <<< "$line")")
      line=$("$heed" bench "$name" --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" --json)
      ours=$(best "$ours" "$(field tokens_per_second)")
      ours_mib=$(least "$ours_mib" "$(field peak_mib)")
      floor=$(best "$floor" "$(field floor_ratio)")
    done
    echo "$name $dtype $torch $ours $torch_mib $ours_mib $floor" >> "$rows"
    echo "$name $dtype: PyTorch $torch, Heed $ours tokens/s" >&2
  done
done

if $json; then
  awk 'BEGIN {printf "["} {printf "%s{\"case\":\"%s\",\"dtype\":\"%s\",\"torch\":%s,\"heed\":%s,\"ratio\":%.3f,\"torch_mib\":%s,\"heed_mib\":%s,\"memory_ratio\":%.3f,\"floor_ratio\":%s}", (NR>1?",":""), $1, $2, $3, $4, $4/$3, $5, $6, $6/$5, $7} END {print "]"}' "$rows"
else
  awk 'BEGIN {printf "%-12s %-5s %12s %12s %8s %10s %10s %8s %9s\n", "case", "dtype", "PyTorch t/s", "Heed t/s", "ratio", "PyTorch MiB", "Heed MiB", "ratio", "of floor"}
       {printf "%-12s %-5s %12.1f %12.1f %7.2fx %10.0f %10.0f %8.2f %8.0f%%\n", $1, $2, $3, $4, $4/$3, $5, $6, $6/$5, 100*$7}' "$rows"
fi
