#!/usr/bin/env bash
# Installs the Debian packages Heed needs. Says nothing to apt when they are all there already.
#
#   tools/install-deps.sh build          what compiling the library and the program takes
#   tools/install-deps.sh build test     and the test suite with its checks and sanitizers
#   tools/install-deps.sh web            a browser and node, for the tests of the studio
#   tools/install-deps.sh mpi            MPI, for training with several processes and machines
#   tools/install-deps.sh balancer       HAProxy, for the test of several servers behind it
#   tools/install-deps.sh peer           PyTorch, for the side-by-side measurements in bench/
#   tools/install-deps.sh --list GROUP   prints a group and installs nothing
set -euo pipefail

# The one list of packages; recommended packages are not installed, so whatever is used stands here.
build_packages=(
  g++ cmake ninja-build
  libdnnl-dev libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libsentencepiece-dev libutf8proc-dev libpng-dev zlib1g-dev libcpp-httplib-dev
  libfluidsynth3 timgm6mb-soundfont # sound from notes, loaded when there is some to make
  libcurl4-openssl-dev # `heed data get`; the build works without
)
test_packages=(
  ccache
  libgtest-dev
  clang libclang-rt-14-dev llvm libomp-dev # sanitizers; llvm turns addresses into lines
  clang-format clang-tidy
)
# Only those whose programs are missing: node often comes from elsewhere, together with its npm.
web_packages=(curl)
for program in node:nodejs npm:npm chromium:chromium; do
  command -v "${program%:*}" >/dev/null || web_packages+=("${program#*:}")
done
mpi_packages=(libopenmpi-dev openmpi-bin)
balancer_packages=(haproxy)
peer_packages=(python3-torch libopenblas0-openmp)

usage() {
  sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

list_only=false
wanted=()
[[ $# -gt 0 ]] || usage
for group in "$@"; do
  case $group in
    --list) list_only=true ;;
    build) wanted+=("${build_packages[@]}") ;;
    test) wanted+=("${test_packages[@]}") ;;
    web) wanted+=("${web_packages[@]}") ;;
    mpi) wanted+=("${mpi_packages[@]}") ;;
    balancer) wanted+=("${balancer_packages[@]}") ;;
    peer) wanted+=("${peer_packages[@]}") ;;
    *) usage ;;
  esac
done
[[ ${#wanted[@]} -gt 0 ]] || usage

if $list_only; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: no dpkg on this system; install the equivalents of: ${wanted[*]}" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  # Packages that exist for several architectures print one status each.
  [[ $status == *installed* && $status != *not-installed* ]] || missing+=("$package")
done

if [[ ${#missing[@]} -eq 0 ]]; then
  echo "install-deps: all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: need root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "install-deps: installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }
if ! apt update || ! apt install --yes --no-install-recommends "${missing[@]}" </dev/null; then
  echo "install-deps: apt could not install: ${missing[*]}" >&2
  echo "install-deps: check the network and that the sources are those of Debian 12, then run this again" >&2
  exit 1
fi
