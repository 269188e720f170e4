#!/usr/bin/env bash
# Rewrite the lock files of Python packages, in scripts/locks and deploy/androidworld. NAME.in lists packages; NAME.txt
# has these and their requirements, with the SHA-256 of every file. Locked versions stay unless NAME.in forbids them: to
# take newer ones, delete NAME.txt first. uv must be on the PATH (pip install uv).
# usage: lock.sh [NAME ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/locks"
[ "$#" -gt 0 ] || set -- $(basename -s .in -- *.in) ../../deploy/androidworld/image
for name in "$@"; do
  options=(--python-version 3.11)
  case "$name" in
    vllm | sglang | pages) options+=(--no-deps) ;; # they list everything that they install
    *-alone) options=(--python-version 3.13 --no-deps) ;; # installed without their requirements
    trl) # on top of llamafactory
      below="$(mktemp)"
      trap 'rm -f "$below"' EXIT
      sed -nE '/^(trl|datasets)==/d; s/^([^ #]+==.*) \\$/\1/p' llamafactory.txt >"$below"
      options+=(--constraints "$below") ;;
  esac
  uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header "${options[@]}" "$name.in" \
    --output-file "$name.txt"
done
