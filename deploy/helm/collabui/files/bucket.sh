#!/bin/sh
# Creates the bucket if it is missing. The script needs mc, S3_URL, BUCKET, and files with the keys. At a MinIO server,
# it also creates an account for each of ROLES, whose secret is in /run/secrets/s3_ROLE, with the policy in /policies.
# It may run again at any time. Keys are passed by standard input, because everyone on a host can see command lines.
set -eu
export MC_CONFIG_DIR=/tmp/mc
BUCKET="${BUCKET:-collabui}"
printf '%s\n%s\n' "$(cat "$S3_ACCESS_KEY_FILE")" "$(cat "$S3_SECRET_KEY_FILE")" | mc alias set store "$S3_URL" >/dev/null
mc mb --ignore-existing "store/$BUCKET"
for role in ${ROLES:-}; do
  while IFS= read -r line; do
    case "$line" in *BUCKET*) line="${line%%BUCKET*}$BUCKET${line#*BUCKET}" ;; esac
    printf '%s\n' "$line"
  done <"/policies/$role.json" >"$MC_CONFIG_DIR/$role.json"
  mc admin policy create store "$role" "$MC_CONFIG_DIR/$role.json"
  printf '%s\n%s\n' "$role" "$(cat "/run/secrets/s3_$role")" | mc admin user add store
  mc admin policy attach store "$role" --user "$role"
done
