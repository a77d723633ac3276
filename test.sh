#!/usr/bin/env bash
# Builds Heed and runs its fast test suite, from nothing but a Debian 12 with bash and apt.
# Arguments go to ctest: ./test.sh -R layer_norm
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf '\n== %s\n' "$*"; }
step="starting"
trap 'printf "\n== failed: %s\n" "$step" >&2' ERR

step="installing packages"
say "$step"
tools/install-deps.sh build test
tools/install-deps.sh web || echo "no browser or node can be installed: the tests of the studio will be skipped"
tools/install-deps.sh balancer || echo "HAProxy cannot be installed: the test of several servers will be skipped"
tools/install-deps.sh mpi || echo "MPI cannot be installed: the tests of several processes will be skipped"

step="configuring build/release"
say "$step"
cmake --preset release -DHEED_BUILD_TESTS=ON # a quickstart before may have left them out

step="building build/release"
say "$step"
cmake --build --preset release

step="running the fast tests"
say "$step"
tools/run-tests.sh release --label-exclude slow "$@"
