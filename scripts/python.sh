#!/usr/bin/env bash
# Print the path of a Python that has aiohttp, which the AndroidWorld companion needs; install it as root on Debian. On
# failure, print only the reason, to stderr: the companion's tests are skipped.
set -uo pipefail
fits='import sys, aiohttp; sys.exit(sys.version_info < (3, 11))'
find_it() {
  for p in "${COLLABUI_PYTHON:-}" python3 /usr/bin/python3; do
    if [ -n "$p" ] && command -v "$p" >/dev/null && "$p" -c "$fits" 2>/dev/null; then
      command -v "$p"
      exit 0
    fi
  done
}
find_it
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-aiohttp; } >/dev/null 2>&1
  find_it
fi
echo "the AndroidWorld companion's tests are skipped: no Python 3.11 with aiohttp" \
  "(Debian: apt-get install python3-aiohttp)" >&2
