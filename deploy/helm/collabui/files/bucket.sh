#!/bin/sh
# Creates the bucket if it is missing. Needs mc, S3_URL, BUCKET, and files with the keys. It may run again at any time.
set -eu
export MC_CONFIG_DIR=/tmp/mc
mc alias set store "$S3_URL" "$(cat "$S3_ACCESS_KEY_FILE")" "$(cat "$S3_SECRET_KEY_FILE")" >/dev/null
mc mb --ignore-existing "store/${BUCKET:-collabui}"
