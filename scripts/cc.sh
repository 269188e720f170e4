#!/usr/bin/env bash
# Install a C compiler if it is missing, because the race detector needs one. This uses apt-get as root on Debian;
# elsewhere it prints the command to run.
set -euo pipefail
command -v "${CC:-gcc}" >/dev/null && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "The race detector needs a C compiler. Type: sudo apt-get install -y gcc libc6-dev" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing gcc for the race detector"
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
