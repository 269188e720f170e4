#!/usr/bin/env bash
# Print the components of one of our programs, as CycloneDX: every module with its version and hash, and the standard
# library. Equal programs give equal bytes.
# usage: sbom.sh FILE [VERSION]
set -euo pipefail
file="$(realpath "${1:?usage: sbom.sh FILE [VERSION]}")"
unset GOOS GOARCH GOAMD64 GOARM64 # these describe the program, not the tool that reads it
lister="$("$(dirname "${BASH_SOURCE[0]}")/gotool.sh" sbom)"
[ -n "$lister" ] || exit 1
cd / # outside of any module
exec "$lister" bin -json -std -noserial -notimestamp ${2:+-version "$2"} "$file"
