#!/usr/bin/env bash
# Print the path of a program that serves a model by SGLang on the CPU: $COLLABUI_SGLANG, or one in a cached Python
# environment, which is made on vLLM's (scripts/vllm.sh) if it is missing. On failure, print nothing, say why and exit
# with 1. The script may run again, and twice concurrently.
#
# SGLang is mended for a processor without AMX: its kernels are replaced (sgl_kernel.py), and adapters are not kept in
# pinned memory, which needs a driver of a GPU.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ -n "${COLLABUI_SGLANG:-}" ]; then
  echo "$COLLABUI_SGLANG"
  exit 0
fi
vllm="$(unset COLLABUI_VLLM && "$here/vllm.sh")" || exit 1
base="$(dirname "$vllm")/python"
lock="$here/locks/sglang.txt"
made="$(cat "$here/locks/vllm.txt" "$lock" "$here/sgl_kernel.py" "$here/sglang.sh" | sha256sum | cut -c1-12)"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/sglang-$made"

# packages prints the folder of a Python's packages.
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

# install makes the environment in a folder.
install() {
  local python="$1/bin/python" at
  "$base" -m venv --clear "$1" && at="$(packages "$python")" && packages "$base" >"$at/vllm.pth" &&
    "$python" -m pip install -q --no-cache-dir --require-hashes --only-binary :all: --no-deps -r "$lock" &&
    mkdir "$at/sgl_kernel" && cp "$here/sgl_kernel.py" "$at/sgl_kernel/__init__.py" &&
    grep -rlE 'pin_memory' "$at/sglang/srt/lora" --include='*.py' |
    xargs sed -i -E 's/pin_memory=True/pin_memory=False/; s/\.pin_memory\(\)//' &&
    printf '%s\n' '#!/bin/sh' 'export SGLANG_USE_CPU_ENGINE=1 CUDA_VISIBLE_DEVICES=' \
      "exec $python -m sglang.launch_server --device cpu --disable-overlap-schedule \\" \
      '  --attention-backend torch_native --sampling-backend pytorch --lora-backend torch_native "$@"' \
      >"$1/bin/sglang-cpu" &&
    chmod +x "$1/bin/sglang-cpu" && touch "$1/ready"
}

mkdir -p "$dir" || exit 1
exec 9>"$dir.lock"
flock 9 # another call may be making it.
if [ ! -e "$dir/ready" ] && ! install "$dir" >"$dir.log" 2>&1; then
  tail -n 5 "$dir.log" >&2
  echo "SGLang is not installed; the output is in $dir.log. Run the script again to retry" >&2
  exit 1
fi
echo "$dir/bin/sglang-cpu"
