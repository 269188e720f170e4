#!/bin/sh
# Writes .env and the files of secrets/, each where it is missing. The folder is closed; the files in it can be read,
# because containers read them as users of their own.
set -eu
umask 022
cd "$(dirname "$0")"
[ -e .env ] || cp .env.example .env
mkdir -p -m 700 secrets
[ -e secrets/payloads ] || : >secrets/payloads # no key: payloads stay readable
roles="s3_control s3_rollout s3_model s3_gpu s3_serve s3_people"
for name in postgres s3_access s3_secret $roles policy view envs grafana; do
  [ -e "secrets/$name" ] || od -An -N10 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
done
