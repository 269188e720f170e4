#!/usr/bin/env bash
# Print a folder with the programs of deploy/compose that are not ours: $COLLABUI_STACK, or a cached folder, which is
# filled if it is missing. Except for mc, the versions are the same as in .env.example; PostgreSQL and Redis come from
# Debian.
set -euo pipefail
if [ -n "${COLLABUI_STACK:-}" ]; then
  echo "$COLLABUI_STACK"
  exit 0
fi
programs=(
  server=go.temporal.io/server/cmd/server@v1.32.1
  sql=go.temporal.io/server/cmd/tools/sql@v1.32.1
  temporal=github.com/temporalio/cli/cmd/temporal@v1.5.1
  ui-server=github.com/temporalio/ui-server/v2/cmd/server@v2.55.0
  minio=github.com/minio/minio@v0.0.0-20250907161309-07c3a429bfed # RELEASE.2025-09-07T16-13-09Z
  mc=github.com/minio/mc@v0.0.0-20250313080218-cf909e1063a9       # the newest that Go's checksum database knows
)
folders=( # of modules: the files that images have besides their programs
  schema=go.temporal.io/server@v1.32.1/schema
  config=github.com/temporalio/ui-server/v2@v2.55.0/config
)
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/stack-1.32.1-20250907"
go="${GO:-go}"
cd / # outside of any module
mkdir -p "$dir"
for p in "${programs[@]}"; do
  name="${p%%=*}" package="${p#*=}"
  [ -x "$dir/$name" ] && continue
  echo "building $package; the first time takes several minutes" >&2
  GOFLAGS= GOBIN="$dir/new" "$go" install "$package"
  mv "$dir/new/$(basename "${package%@*}")" "$dir/$name"
done
for f in "${folders[@]}"; do
  name="${f%%=*}" module="${f#*=}"
  [ -e "$dir/$name" ] && continue
  found="$("$go" mod download -json "${module%/*}" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  ln -sfn "$found/${module##*/}" "$dir/$name"
done
if ! compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || ! command -v redis-server >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    postgresql redis-server; } >&2
fi
ln -sfn "$(dirname "$(compgen -G "/usr/lib/postgresql/*/bin/initdb" | sort -V | tail -1)")" "$dir/postgres"
echo "$dir"
