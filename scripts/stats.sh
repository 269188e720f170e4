#!/usr/bin/env bash
# Print a Python that has the packages with which tables are computed again: $COLLABUI_STATS_PYTHON, or that of a cached
# virtual environment, made if it is missing. On failure, print nothing and say why: those tests are skipped.
set -uo pipefail
packages=(evalconfidence==0.1.1 statsmodels==0.15.0)
if [ -n "${COLLABUI_STATS_PYTHON:-}" ]; then
  echo "$COLLABUI_STATS_PYTHON"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/stats-${packages[0]#*==}-${packages[1]#*==}"
if [ ! -x "$dir/bin/python" ]; then
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } >/dev/null 2>&1
  fi
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! { python3 -m venv "$tmp" && "$tmp/bin/python" -m pip install -q "${packages[@]}" && mv "$tmp" "$dir"; } \
    >/dev/null 2>&1 && [ ! -x "$dir/bin/python" ]; then
    echo "the tests with other packages are skipped: pip install ${packages[*]} failed" \
      "(COLLABUI_STATS_PYTHON may name a Python that has them)" >&2
    exit 0
  fi
fi
echo "$dir/bin/python"
