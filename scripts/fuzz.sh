#!/usr/bin/env bash
# Run every fuzz target of the module for FUZZTIME (20000x). A failing input is written below the package's
# testdata/fuzz; commit it with the fix.
#
# FUZZTIME counts inputs. With a duration, Go before 1.27 sometimes reports its own deadline as a failure
# (https://go.dev/issue/75804).
set -euo pipefail
cd "$(dirname "$0")/.."
go="${GO:-go}"
time="${FUZZTIME:-20000x}"
found=0
while read -r package dir; do
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$dir"/*_test.go); do
    found=$((found + 1))
    echo "fuzz ${package#*/*/*/} $target for $time"
    # The result of a target is a few lines of progress, which are shown if it fails.
    if ! out="$("$go" test -run NONE -fuzz "^$target\$" -fuzztime "$time" "$package" 2>&1)"; then
      echo "$out"
      exit 1
    fi
  done
done < <("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...)
if [ "$found" = 0 ]; then
  echo "no fuzz target was found, want at least one" >&2
  exit 1
fi
