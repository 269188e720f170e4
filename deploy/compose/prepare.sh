#!/bin/sh
# Writes .env and the files of secrets/ that are missing. The folder is closed, but its files are readable, because
# containers read them as other users.
set -eu
umask 022
cd "$(dirname "$0")"
[ -e .env ] || cp .env.example .env
mkdir -p -m 700 secrets
[ -e secrets/payloads ] || : >secrets/payloads # without a key, payloads stay readable
roles="s3_control s3_rollout s3_model s3_gpu s3_serve s3_people"
for name in postgres s3_access s3_secret $roles policy view envs grafana; do
  [ -e "secrets/$name" ] || od -An -N10 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
done
