#!/usr/bin/env bash
# Print a folder of Node modules that has a set of packages: the folder that COLLABUI_SET_NODE names, such as
# COLLABUI_CLIENTS_NODE, or a cached folder. If that is missing, it is made from files whose hashes are in
# locks/node/SET. On failure, print only the reason, to stderr: the tests that need the set are skipped.
# usage: node.sh SET
set -uo pipefail
case "${1:-}" in
  # OpenAI's client for JavaScript. Later versions need Node 22, and Debian 12 has Node 18.
  clients) ;;
  # The checker of accessibility.
  axe) ;;
  *)
    echo "usage: node.sh clients|axe" >&2
    exit 2
    ;;
esac
variable="COLLABUI_${1^^}_NODE"
if [ -n "${!variable:-}" ]; then
  echo "${!variable}"
  exit 0
fi
there() { node --version && npm --version; }
lock="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/locks/node/$1"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/$1-node-$(sha256sum <"$lock/package-lock.json" | cut -c1-12)"
if [ ! -d "$dir" ]; then
  mkdir -p "$(dirname "$dir")"
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! there >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } >/dev/null 2>&1
  fi
  install() {
    mkdir -p "$tmp" && cp "$lock"/*.json "$tmp" && npm ci --no-audit --no-fund --ignore-scripts --prefix "$tmp"
  }
  if ! { there && install && mv -T "$tmp" "$dir"; } >/dev/null 2>&1 && [ ! -d "$dir" ]; then
    echo "the tests that need the packages of scripts/locks/node/$1 are skipped: they cannot be installed" \
      "(nodejs and npm are needed; $variable may name a folder of modules that has it)" >&2
    exit 0
  fi
fi
echo "$dir/node_modules"
