#!/usr/bin/env bash
# Print the folder of prometheus and promtool: $COLLABUI_PROMETHEUS, a folder of the PATH, or the folder of Debian's
# package, which is unpacked into a cache and not installed. On failure, print only the reason, to stderr: the tests
# that need them are skipped.
set -uo pipefail
if [ -n "${COLLABUI_PROMETHEUS:-}" ]; then
  echo "$COLLABUI_PROMETHEUS"
  exit 0
fi
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  dirname "$(command -v prometheus)"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/prometheus"
if [ ! -x "$dir/usr/bin/prometheus" ]; then
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  if ! { mkdir -p "$tmp" && cd "$tmp" && { apt-get download -qq prometheus || { apt-get update -qq &&
    apt-get download -qq prometheus; }; } && dpkg -x prometheus_*.deb . && mv "$tmp" "$dir"; } >/dev/null 2>&1 &&
    [ ! -x "$dir/usr/bin/prometheus" ]; then
    echo "the tests that need Prometheus are skipped: Debian's package could not be fetched" \
      "(COLLABUI_PROMETHEUS may name a folder with prometheus and promtool)" >&2
    exit 0
  fi
fi
echo "$dir/usr/bin"
