#!/usr/bin/env bash
# Print where one of OpenAI's official clients is: "python" prints a Python that has the package openai, "node" a folder
# of Node's modules that has it. It is $COLLABUI_CLIENTS_PYTHON or $COLLABUI_CLIENTS_NODE, or a cached one, made if it
# is missing. On failure, print nothing and say why: the tests with that client are skipped.
set -uo pipefail
case "${1:-}" in
python)
  version=3.54.0 given="${COLLABUI_CLIENTS_PYTHON:-}" variable=COLLABUI_CLIENTS_PYTHON path=bin/python
  packages=(python3 python3-venv)
  there() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'; }
  install() { python3 -m venv "$1" && "$1/bin/python" -m pip install -q "openai==$version"; }
  ;;
node)
  version=6.49.0 # later ones want Node 22, and Debian 12 has Node 18
  given="${COLLABUI_CLIENTS_NODE:-}" variable=COLLABUI_CLIENTS_NODE path=node_modules
  packages=(nodejs npm)
  there() { node --version && npm --version; }
  install() { mkdir -p "$1" && npm install --no-audit --no-fund --prefix "$1" "openai@$version"; }
  ;;
*)
  echo "usage: scripts/clients.sh python|node" >&2
  exit 2
  ;;
esac
if [ -n "$given" ]; then
  echo "$given"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/openai-$1-$version"
if [ ! -d "$dir" ]; then
  mkdir -p "$(dirname "$dir")"
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! there >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >/dev/null 2>&1
  fi
  if ! { there && install "$tmp" && mv -T "$tmp" "$dir"; } >/dev/null 2>&1 && [ ! -d "$dir" ]; then
    echo "the tests with OpenAI's client for $1 are skipped: openai $version cannot be installed" \
      "(${packages[*]} are needed; $variable may name what has it)" >&2
    exit 0
  fi
fi
echo "$dir/$path"
