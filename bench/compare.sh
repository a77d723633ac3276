#!/usr/bin/env bash
# Heed beside PyTorch on the same work: runs both alternately in one go and prints the ratios.
#
# usage: bench/compare.sh [--json] [--rounds N] [--reps N] [--threads N] [--dtype f32,bf16] [--isa LIST] [CASE...]
#
# --isa avx2,avx512,bf16,amx pins both sides to each of these instruction sets that the CPU has, a table each:
# HEED_MAX_ISA for Heed; ATEN_CPU_CAPABILITY, DNNL_MAX_CPU_ISA and OPENBLAS_CORETYPE for PyTorch. The bf16 dtype is
# measured where there are instructions for it (bf16 and amx). Without --isa both use what they find.
#
# PyTorch is Debian's python3-torch with libopenblas0-openmp, installed if missing, and gets its best setting:
# - where OpenBLAS does not know the CPU and would fall back to SSE kernels, OPENBLAS_CORETYPE names the closest one;
# - where its oneDNN dies on AMX (virtual machines that hide the tiles from CPUID), AMX is switched off for it.
# Both are printed when they apply. The peer program is bench/torch_peer.py, or the one HEED_TORCH_PEER names.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/support.sh

option=([rounds]=3 [reps]=5 [threads]=2 [dtype]="f32,bf16" [isa]="")
parse_options "$@"
cases=("${arguments[@]}")
[ ${#cases[@]} -gt 0 ] || cases=(mt-train gpt-train gpt-decode bert-embed attn rel-attn)
find_heed
tools/install-deps.sh peer >&2
peer=${HEED_TORCH_PEER:-bench/torch_peer.py}
python=/usr/bin/python3

# The settings that PyTorch needs on this machine.
note="" without_amx=false
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
  without_amx=true
  note+="DNNL_MAX_CPU_ISA=AVX512_CORE_BF16 (its oneDNN dies on AMX here) "
fi
[ -z "$note" ] || echo "PyTorch runs with: $note" >&2

cpu=$(sed -n 's/^model name\t: //p' /proc/cpuinfo | head -1)
rows=$(mktemp) all=$(mktemp)
trap 'rm -f "$rows" "$all"' EXIT

# Whether the CPU has an instruction set: by its flag in /proc/cpuinfo.
declare -A flag=([avx2]=avx2 [avx512]=avx512f [bf16]=avx512_bf16 [amx]=amx_bf16)
has() { grep -qw "${flag[$1]}" /proc/cpuinfo; }

# pin ISA: what both sides of this comparison may use.
pin() {
  export HEED_MAX_ISA=$1
  case $1 in
    avx2) export ATEN_CPU_CAPABILITY=avx2 DNNL_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell ;;
    avx512) export ATEN_CPU_CAPABILITY=avx512 DNNL_MAX_CPU_ISA=AVX512_CORE_VNNI OPENBLAS_CORETYPE=SkylakeX ;;
    bf16) export ATEN_CPU_CAPABILITY=avx512 DNNL_MAX_CPU_ISA=AVX512_CORE_BF16 OPENBLAS_CORETYPE=SkylakeX ;;
    amx) export ATEN_CPU_CAPABILITY=avx512 DNNL_MAX_CPU_ISA=AVX512_CORE_AMX OPENBLAS_CORETYPE=SkylakeX ;;
  esac
  if [ "$1" = amx ] && $without_amx; then
    DNNL_MAX_CPU_ISA=AVX512_CORE_BF16
  fi
}

# measure NAME DTYPE: adds a row with the best of all rounds.
measure() {
  local name=$1 dtype=$2 torch="" torch_mib="" ours="" ours_mib="" floor=""
  for _ in $(seq "${option[rounds]}"); do
    line=$("$python" "$peer" "$name" --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" | tail -1)
    torch=$(best "$torch" "$(awk '{print $3}' <<< "$line")")
    torch_mib=$(least "$torch_mib" "$(awk '{print $6}' <<< "$line")")
    line=$("$heed" bench "$name" --dtype "$dtype" --threads "${option[threads]}" --reps "${option[reps]}" --json)
    ours=$(best "$ours" "$(field tokens_per_second)")
    ours_mib=$(least "$ours_mib" "$(field peak_mib)")
    floor=$(best "$floor" "$(field floor_ratio)")
  done
  echo "$name $dtype $torch $ours $torch_mib $ours_mib $floor ${HEED_MAX_ISA:-best}" >> "$rows"
  echo "${HEED_MAX_ISA:+$HEED_MAX_ISA: }$name $dtype: PyTorch $torch, Heed $ours tokens/s" >&2
}

# compare DTYPE...: the table of all cases.
compare() {
  local name dtype
  : > "$rows"
  for name in "${cases[@]}"; do
    for dtype in "$@"; do
      measure "$name" "$dtype"
    done
  done
  if $json; then
    cat "$rows" >> "$all"
  else
    echo "$cpu${HEED_MAX_ISA:+, both pinned to $HEED_MAX_ISA}, ${option[threads]} threads"
    awk 'BEGIN {printf "%-12s %-5s %12s %12s %8s %10s %10s %8s %9s\n", "case", "dtype", "PyTorch t/s", "Heed t/s", "ratio", "PyTorch MiB", "Heed MiB", "ratio", "of floor"}
         {printf "%-12s %-5s %12.1f %12.1f %7.2fx %10.0f %10.0f %8.2f %8.0f%%\n", $1, $2, $3, $4, $4/$3, $5, $6, $6/$5, 100*$7}' "$rows"
  fi
}

dtypes=(${option[dtype]//,/ })
# With --json: all rows of all tables as one array.
finish() {
  if $json; then
    awk 'BEGIN {printf "["} {printf "%s{\"case\":\"%s\",\"dtype\":\"%s\",\"torch\":%s,\"heed\":%s,\"ratio\":%.3f,\"torch_mib\":%s,\"heed_mib\":%s,\"memory_ratio\":%.3f,\"floor_ratio\":%s,\"isa\":\"%s\"}", (NR>1?",":""), $1, $2, $3, $4, $4/$3, $5, $6, $6/$5, $7, $8} END {print "]"}' "$all"
  fi
}

if [ -z "${option[isa]}" ]; then
  compare "${dtypes[@]}"
  finish
  exit
fi
for isa in ${option[isa]//,/ }; do
  [ -n "${flag[$isa]:-}" ] || die 2 "--isa $isa is none of avx2, avx512, bf16, amx"
done
for isa in ${option[isa]//,/ }; do
  if ! has "$isa"; then
    echo "skipped: this CPU has no $isa" >&2
    continue
  fi
  pin "$isa"
  narrow=()
  for dtype in "${dtypes[@]}"; do
    [[ $dtype == bf16 && $isa == avx* ]] || narrow+=("$dtype")
  done
  [ ${#narrow[@]} -eq 0 ] || compare "${narrow[@]}"
done
finish
