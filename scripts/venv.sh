#!/usr/bin/env bash
# Print the path of a Python that has a set of packages: the path that COLLABUI_SET_PYTHON holds, such as
# COLLABUI_STATS_PYTHON, or the Python of a cached virtual environment. If that is missing, it is made from files whose
# hashes are in locks/SET.txt. On failure, print only the reason, to stderr: the tests that need the set are skipped.
# usage: venv.sh SET
set -uo pipefail
case "${1:-}" in
  stats | openenv | wheel | datasets | tools | clients | deploy | miniwob | valkey | browsergym | \
    tokens) ;;
  *)
    echo "usage: venv.sh stats|openenv|wheel|datasets|tools|clients|miniwob|valkey|browsergym|deploy|tokens" >&2
    exit 2
    ;;
esac
locks="$(cd "$(dirname "${BASH_SOURCE[0]}")/locks" && pwd)" # SET.in lists the packages of a set
packages="$locks/$1.txt" alone="$locks/$1-alone.txt"
[ -e "$alone" ] || alone="" # installed without their requirements
variable="COLLABUI_${1^^}_PYTHON"
if [ -n "${!variable:-}" ]; then
  echo "${!variable}"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/$1-$(cat "$packages" $alone | sha256sum | cut -c1-12)"
if [ ! -x "$dir/bin/python" ]; then
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } >/dev/null 2>&1
  fi
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  # Modules are compiled when they are imported, because compiling all of them takes a third of the installation.
  install() {
    "$tmp/bin/python" -m pip install -q --require-hashes --only-binary :all: --no-deps --no-compile "$@"
  }
  if ! { python3 -m venv "$tmp" && install -r "$packages" &&
    { [ -z "$alone" ] || install --ignore-requires-python -r "$alone"; } && mv "$tmp" "$dir"; } \
    >/dev/null 2>&1 && [ ! -x "$dir/bin/python" ]; then
    echo "the tests that need the packages of scripts/locks/$1.in are skipped: pip install failed" \
      "($variable may name a Python that has them)" >&2
    exit 0
  fi
fi
echo "$dir/bin/python"
