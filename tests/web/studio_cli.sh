#!/usr/bin/env bash
# The studio's modules, the studio in a real browser and OpenAI's own client, against `heed serve` with tiny models of
# every kind, and against a mock server where that one cannot show what is to be checked.
# Usage: tests/web/studio_cli.sh HEED MUSIC_FOLDER RECIPES DEPENDENCIES
# DEPENDENCIES is where tools/web-test-deps.sh installs the npm packages. Status 77: skipped, with the reason.
# HEED_SHOTS names a folder for pictures of the pages.
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
music_folder=$(realpath "$2")
recipes=$(realpath "$3")
dependencies=$(realpath -m "$4")
skip() {
  echo "skipped: $*"
  exit 77
}
command -v node > /dev/null || skip "node is not installed (tools/install-deps.sh test)"
command -v chromium > /dev/null || skip "chromium is not installed (tools/install-deps.sh test)"
"$here/../../tools/web-test-deps.sh" "$dependencies" > /dev/null 2>&1 || skip "npm cannot install playwright-core, axe-core and openai"
. "$here/../cli/support.sh"
node --test "$here/modules_test.mjs" || fail "the studio's modules"
node "$here/studio_test.mjs" --mock-only --deps "$dependencies" --wait 60 || fail "the studio on the mock server"
. "$here/../serve/tiny_models.sh"

start --model language --model masked --model classes --model en-de=pairs --model stories --model piano --model harmonise \
  --model digits --model larger --run pairs
node "$here/../serve/openai_client.mjs" "$base" --deps "$dependencies" || fail "OpenAI's client"
node "$here/studio_test.mjs" --base "$base/" --deps "$dependencies" --wait 60 ${HEED_SHOTS:+--shots "$HEED_SHOTS"} ||
  fail "the studio on heed serve"
exit $failed
