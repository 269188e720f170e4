#!/usr/bin/env bash
# Print the path of a program or of a module's folder that deploy/ and its checks need: the path that COLLABUI_NAME
# holds, such as COLLABUI_HELM, or a cached copy, which the go command builds or downloads if it is missing. On failure,
# print only the reason, to stderr: the checks that need the program are skipped.
# usage: gotool.sh NAME
set -uo pipefail
program="" module=""
case "${1:-}" in
  helm) program=helm.sh/helm/v3/cmd/helm@v3.22.0 ;;
  # The library with which Docker Compose reads its files.
  compose) program=github.com/compose-spec/compose-go/v2/cmd@v2.16.2 ;;
  # The definitions of ScaledObject and ServiceMonitor.
  keda) module=github.com/kedacore/keda/v2@v2.21.0 ;;
  monitoring) module=github.com/prometheus-operator/prometheus-operator@v0.85.0 ;;
  # The program that lists the modules of a program; releases need it, too.
  sbom) program=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 ;;
  *)
    echo "usage: gotool.sh helm|compose|keda|monitoring|sbom" >&2
    exit 2
    ;;
esac
variable="COLLABUI_${1^^}"
if [ -n "${!variable:-}" ]; then
  echo "${!variable}"
  exit 0
fi
what="$program$module"
skip() {
  echo "the checks that need $1 are skipped: the go command cannot get $what ($variable may name its path)" >&2
  exit 0
}
cd / || exit 1 # outside of any module
if [ -n "$module" ]; then
  found="$("${GO:-go}" mod download -json "$module" 2>/dev/null | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  [ -n "$found" ] || skip "$1"
  echo "$found"
  exit 0
fi
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/$1-${what##*@}"
if [ ! -x "$dir/$1" ]; then
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  echo "building $what; the first time takes several minutes" >&2
  if ! { mkdir -p "$tmp" "$dir" && GOFLAGS= GOBIN="$tmp" "${GO:-go}" install "$program" &&
    mv "$tmp"/* "$dir/$1"; } >/dev/null 2>&1 && [ ! -x "$dir/$1" ]; then
    skip "$1"
  fi
fi
echo "$dir/$1"
