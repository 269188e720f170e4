#!/usr/bin/env bash
# Print a folder of Node's modules that has OpenAI's client for JavaScript: $COLLABUI_CLIENTS_NODE, or a cached one,
# made if it is missing. On failure, print nothing and say why: the tests with that client are skipped.
set -uo pipefail
version=6.49.0 # later ones want Node 22, and Debian 12 has Node 18
if [ -n "${COLLABUI_CLIENTS_NODE:-}" ]; then
  echo "$COLLABUI_CLIENTS_NODE"
  exit 0
fi
there() { node --version && npm --version; }
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/openai-node-$version"
if [ ! -d "$dir" ]; then
  mkdir -p "$(dirname "$dir")"
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! there >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } >/dev/null 2>&1
  fi
  install() { mkdir -p "$tmp" && npm install --no-audit --no-fund --prefix "$tmp" "openai@$version"; }
  if ! { there && install && mv -T "$tmp" "$dir"; } >/dev/null 2>&1 && [ ! -d "$dir" ]; then
    echo "the tests with OpenAI's client for JavaScript are skipped: openai $version cannot be installed" \
      "(nodejs and npm are needed; COLLABUI_CLIENTS_NODE may name a folder of modules that has it)" >&2
    exit 0
  fi
fi
echo "$dir/node_modules"
