#!/usr/bin/env bash
# Write the files of a release into dist/: archives and Debian packages for linux amd64 and arm64, and archives of the
# command line for darwin, each with a list of its programs' components (sbom.sh) and the wheel for environments in
# Python (wheel.sh), the wheel alone, and SHA256SUMS. Equal sources and compiler give equal bytes. If COLLABUI_SIGN names
# a private SSH key, SHA256SUMS is signed: `ssh-keygen -Y verify -n collabui` checks it.
# usage: release.sh VERSION [OS/ARCH ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version="${1:?usage: release.sh VERSION [OS/ARCH ...]}"
if ! [[ "$version" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]]; then
  echo "a version is like v1.2.3 or v1.2.3-rc.1, not $version" >&2
  exit 2
fi
shift
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(linux/amd64 linux/arm64 darwin/arm64 darwin/amd64)
export CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOFLAGS=-mod=readonly
time="@$(git log -1 --format=%ct)" # of all files
dist="$PWD/dist"
rm -rf "$dist" && mkdir -p "$dist"
wheel="$(scripts/wheel.sh "$version" "$dist")"

for target in "${targets[@]}"; do
  export GOOS="${target%/*}" GOARCH="${target#*/}"
  name="collabui-${version#v}-$GOOS-$GOARCH"
  stage="$dist/$name"
  mkdir -p "$stage"
  go build -trimpath -buildvcs=auto -ldflags "-s -w -buildid= -X main.released=${version#v}" \
    -o "$stage/collabui" ./cmd/collabui
  if [ "$GOOS" = linux ]; then # the services of one machine: Temporal, an S3 server, Redis
    go build -C deploy/local -trimpath -buildvcs=auto -ldflags "-s -w -buildid=" -o "$stage/collabui-local" .
  fi
  for program in "$stage"/*; do
    scripts/sbom.sh "$program" "$version" >"$program.cdx.json"
  done
  cp "$wheel" "$stage"
  git archive HEAD README.md LICENSE CHANGELOG.md docs examples | tar -x -C "$stage" # only files in git
  tar --sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner -C "$dist" -cf - "$name" |
    gzip -n9 >"$dist/$name.tar.gz"

  if [ "$GOOS" = linux ] && command -v dpkg-deb >/dev/null; then
    root="$dist/deb" && rm -rf "$root"
    install -D -m 755 -t "$root/usr/bin" "$stage/collabui" "$stage/collabui-local"
    install -D -m 644 -t "$root/usr/share/doc/collabui" "$stage"/*.cdx.json
    install -D -m 644 -t "$root/usr/share/collabui" "$wheel"
    mkdir -p "$root/DEBIAN"
    git archive HEAD README.md LICENSE CHANGELOG.md docs examples | tar -x -C "$root/usr/share/doc/collabui"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: collabui
Version: $(sed 's/-/~/' <<<"${version#v}")
Architecture: $GOARCH
Maintainer: the collabui project
Section: science
Priority: optional
Recommends: chromium-headless-shell | chromium
Description: trains collaborating UI agents as durable workflows
 Rollouts, critic scoring, adversarial pairing, updates and the resampling of
 the graph run as Temporal workflows; runs survive every failure.
CONTROL
    find "$root" -exec touch -h -d "$time" {} +
    SOURCE_DATE_EPOCH="${time#@}" dpkg-deb --root-owner-group -Zgzip --build "$root" \
      "$dist/collabui_${version#v}_$GOARCH.deb" >/dev/null
    rm -rf "$root"
  fi
  rm -rf "$stage"
done

cd "$dist"
sha256sum -- * >SHA256SUMS
if [ -n "${COLLABUI_SIGN:-}" ]; then
  ssh-keygen -q -Y sign -f "$COLLABUI_SIGN" -n collabui SHA256SUMS
fi
ls -l
