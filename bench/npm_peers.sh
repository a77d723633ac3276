# Sourced by the comparisons with programs of npm: installs them at fixed versions into build/peers.
#
# npm_peers NAME@VERSION...   what is already there is left alone; says what is missing and exits if that fails
peers=build/peers

npm_peers() {
  local tool package name missing=()
  for tool in node npm; do
    command -v "$tool" > /dev/null || { echo "$0: $tool is not installed; it runs the peer (Node.js 20 or newer)" >&2; exit 1; }
  done
  for package in "$@"; do
    name=${package%@*}
    grep -qs "\"version\": *\"${package##*@}\"" "$peers/node_modules/$name/package.json" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing ${missing[*]} into $peers" >&2
  mkdir -p "$peers"
  [ -f "$peers/package.json" ] || echo '{"name": "peers", "private": true}' > "$peers/package.json"
  # No install scripts and no optional parts: they would fetch GPU libraries and build from source.
  npm install --prefix "$peers" --save-exact --ignore-scripts --omit=optional --no-audit --no-fund \
      --fetch-retries=1 --loglevel=error "${missing[@]}" >&2 || {
    echo "$0: npm could not install ${missing[*]}; is $(npm config get registry 2> /dev/null) reachable?" >&2
    exit 1
  }
}
