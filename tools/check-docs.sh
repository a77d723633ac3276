#!/usr/bin/env bash
# Checks that the files and folders which README.md, CONTRIBUTING.md, docs/*.md and deploy/*.md link to or name exist.
#   tools/check-docs.sh [ROOT]
set -euo pipefail
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
cd "$root"
shopt -s nullglob
pages=(README*.md CONTRIBUTING*.md docs/*.md deploy/*.md)

# links PAGE: the targets of its links, relative to the page; code has brackets and parentheses, too, and is left out.
links() {
  sed '/^ *```/,/^ *```/d; s/`[^`]*`//g' "$1" | { grep -oE '\]\([^)#:]+' || true; } | cut -c 3-
}
# names PAGE: the paths it names from the root. What documentation asks to write (NAME_test.cc) or build is not there yet.
names() {
  { grep -oE '(^|[^A-Za-z0-9_./-])(bench|deploy|docs|recipes|src|tests|tools)/[A-Za-z0-9_./*-]+' "$1" || true; } |
    sed -E 's/^[^a-z]//; s/\.+$//' | { grep -vE '[A-Z]{4}|/topic_|/clamp\.' || true; }
}

failed=0
for page in "${pages[@]}"; do
  while read -r link; do
    [[ -e $(dirname "$page")/$link ]] || { echo "$page: links to $link, which does not exist"; failed=1; }
  done < <(links "$page" | sort -u)
  while read -r name; do
    compgen -G "$name*" >/dev/null || { echo "$page: names $name, which does not exist"; failed=1; }
  done < <(names "$page" | sort -u)
done
((failed == 0)) || exit 1
echo "check-docs: ${#pages[@]} pages name what exists"
