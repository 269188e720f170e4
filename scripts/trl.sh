#!/usr/bin/env bash
# Print the path of a Python that has TRL: $COLLABUI_TRL_PYTHON, or the Python of a cached virtual environment, which is
# made if it is missing. It extends the environment of llamafactory.sh and uses its PyTorch, transformers and peft. On
# failure, print only the reason, to stderr, and exit with 1.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
packages="$here/locks/trl.txt"
if [ -n "${COLLABUI_TRL_PYTHON:-}" ]; then
  echo "$COLLABUI_TRL_PYTHON"
  exit 0
fi
program="$("$here/llamafactory.sh")" || exit 1
base="$(dirname "$program")/python"
made="$(cat "$here/locks/llamafactory.txt" "$packages" | sha256sum | cut -c1-12)"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/trl-$made"
if [ ! -x "$dir/bin/python" ]; then
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  # By the path file, pip finds the packages that llamafactory.sh installed, and installs only the missing ones.
  if ! { mkdir -p "$(dirname "$dir")" && "$base" -m venv "$tmp" &&
    "$base" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
      >"$("$tmp/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/llamafactory.pth" &&
    "$tmp/bin/python" -m pip install -q --require-hashes --only-binary :all: --no-deps -r "$packages" &&
    "$tmp/bin/python" -c 'from trl import DPOTrainer' &&
    mv -T "$tmp" "$dir"; } >"$dir.log" 2>&1 && [ ! -x "$dir/bin/python" ]; then
    tail -n 5 "$dir.log" >&2
    echo "TRL is not installed: pip install of $packages failed, see $dir.log (COLLABUI_TRL_PYTHON may name a" \
      "Python that has it)" >&2
    exit 1
  fi
fi
echo "$dir/bin/python"
