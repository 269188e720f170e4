#!/usr/bin/env bash
# Build the wheel of python/ at HEAD, and print its path. Equal sources give equal bytes.
# usage: wheel.sh VERSION DIR
set -euo pipefail
version="${1:?usage: wheel.sh VERSION DIR}"
dir="$(realpath "${2:?usage: wheel.sh VERSION DIR}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="$(scripts/venv.sh wheel)"
[ -n "$python" ] || exit 1
source="$(mktemp -d)"
trap 'rm -rf "$source"' EXIT
git archive HEAD LICENSE python | tar -x -C "$source"
mv "$source/LICENSE" "$source/python"
sed -i "s/^version = .*/version = \"${version#v}\"/" "$source/python/pyproject.toml"
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" \
  "$python" -m build --wheel --no-isolation --outdir "$source/dist" "$source/python" >&2
wheel="$(basename "$source"/dist/*.whl)"
mv "$source/dist/$wheel" "$dir"
echo "$dir/$wheel"
