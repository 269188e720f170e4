#!/usr/bin/env bash
# Print a Python that has the package datasets: $COLLABUI_DATASETS_PYTHON, or that of a cached virtual environment, made
# if it is missing. On failure, print nothing and say why: the tests that load exports with it are skipped.
set -uo pipefail
version=5.2.0
if [ -n "${COLLABUI_DATASETS_PYTHON:-}" ]; then
  echo "$COLLABUI_DATASETS_PYTHON"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/datasets-$version"
if [ ! -x "$dir/bin/python" ]; then
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } >/dev/null 2>&1
  fi
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! { python3 -m venv "$tmp" && "$tmp/bin/python" -m pip install -q "datasets==$version" && mv "$tmp" "$dir"; } \
    >/dev/null 2>&1 && [ ! -x "$dir/bin/python" ]; then
    echo "the tests that load exports are skipped: pip install datasets==$version failed" \
      "(COLLABUI_DATASETS_PYTHON may name a Python that has it)" >&2
    exit 0
  fi
fi
echo "$dir/bin/python"
