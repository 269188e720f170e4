#!/usr/bin/env bash
# Print the folder with the official MiniWoB++ pages: $COLLABUI_MINIWOB, or a cached copy of the Python package miniwob,
# downloaded if it is missing. On failure, print only the reason, to stderr: tests of the official pages are skipped.
set -uo pipefail
if [ -n "${COLLABUI_MINIWOB:-}" ]; then
  echo "$COLLABUI_MINIWOB"
  exit 0
fi
lock="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/locks/pages.txt"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/miniwob-$(sha256sum <"$lock" | cut -c1-12)"
if [ ! -d "$dir" ]; then
  tmp="$dir.$$" # beside it, so that the last step is a rename
  trap 'rm -rf "$tmp"' EXIT
  if ! { mkdir -p "$tmp" &&
    python3 -m pip download -q --require-hashes --only-binary :all: --no-deps -r "$lock" -d "$tmp" &&
    python3 -m zipfile -e "$tmp"/miniwob-*.whl "$tmp/pages" &&
    mv -T "$tmp/pages" "$dir"; } >/dev/null 2>&1; then
    if [ ! -d "$dir" ]; then
      echo "the tests of the official MiniWoB++ pages are skipped: pip download of the package miniwob failed" \
        "(COLLABUI_MINIWOB may name a folder with them)" >&2
      exit 0
    fi
  fi
fi
echo "$dir"
