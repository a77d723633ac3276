#!/usr/bin/env bash
# Installs what tests of the server and its studio need beside node and chromium, into a folder outside git:
# playwright-core drives the browser, axe-core finds what keeps people with disabilities from using a page, and openai is
# the client whose interface /v1/completions and /v1/embeddings have.
#   tools/web-test-deps.sh [FOLDER]     default build/web-test
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/web-test}
packages=(playwright-core@1.65.0 openai@6.49.0 axe-core@4.14.0)

for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "web-test-deps: $program is missing; install the packages nodejs and npm" >&2
    exit 1
  fi
done
missing=()
for package in "${packages[@]}"; do
  grep -qs "\"version\": \"${package##*@}\"" "$folder/node_modules/${package%@*}/package.json" || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  mkdir -p "$folder"
  # A package.json of its own keeps npm from looking for one further up.
  [[ -f $folder/package.json ]] || echo '{ "private": true }' >"$folder/package.json"
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --prefix "$folder" --save-exact --no-audit --no-fund --silent \
    "${missing[@]}"
fi
echo "web-test-deps: ${packages[*]} are in $folder"
