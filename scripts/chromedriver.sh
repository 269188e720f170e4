#!/usr/bin/env bash
# Install ChromeDriver if it is missing. Only `make bench` needs it, for the official client of MiniWoB++.
set -euo pipefail
command -v chromedriver >/dev/null && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "ChromeDriver is missing. Type: sudo apt-get install -y chromium-driver" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium-driver >/dev/null
