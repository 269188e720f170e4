#!/usr/bin/env bash
# Install Chromium if it is missing. This uses apt-get as root on Debian; elsewhere it prints the command to run.
set -euo pipefail
for p in "${COLLABUI_CHROMIUM:-}" chromium-headless-shell /usr/lib/chromium/chromium chromium google-chrome \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
  if [ -n "$p" ] && command -v "$p" >/dev/null; then exit 0; fi
done
if ! command -v apt-get >/dev/null; then
  echo "Chromium is missing. Install it, or set COLLABUI_CHROMIUM to its path." >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "Chromium is missing. Type: sudo apt-get install -y chromium-headless-shell, or chromium" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing Chromium"
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null ||
  apt-get install -y -qq --no-install-recommends chromium >/dev/null
