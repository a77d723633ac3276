#!/usr/bin/env bash
# Installs what the studio's browser test needs beside node and chromium: playwright-core, into a folder outside git.
#   tools/web-test-deps.sh [FOLDER]     default build/web-test
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/web-test}
version=1.65.0

for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "web-test-deps: $program is missing; install the packages nodejs and npm" >&2
    exit 1
  fi
done
mkdir -p "$folder"
if [[ -f $folder/node_modules/playwright-core/package.json ]] &&
  grep -q "\"version\": \"$version\"" "$folder/node_modules/playwright-core/package.json"; then
  echo "web-test-deps: playwright-core $version is in $folder"
  exit 0
fi
# A package.json of its own keeps npm from looking for one further up.
echo '{ "private": true }' >"$folder/package.json"
PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --prefix "$folder" --no-audit --no-fund --silent "playwright-core@$version"
echo "web-test-deps: playwright-core $version is now in $folder"
