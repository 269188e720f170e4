#!/usr/bin/env bash
# Print what a program of ours is made of, as CycloneDX: every module with its version and hash, and the standard library.
# Equal programs give equal bytes.
# usage: sbom.sh FILE [VERSION]
set -euo pipefail
file="$(realpath "${1:?usage: sbom.sh FILE [VERSION]}")"
cd / # outside of any module
unset GOOS GOARCH GOAMD64 GOARM64 # of the program, not of what reads it
GOFLAGS= exec "${GO:-go}" run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 \
  bin -json -std -noserial -notimestamp ${2:+-version "$2"} "$file"
