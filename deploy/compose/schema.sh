#!/bin/sh
# Creates the two databases of Temporal and their tables, or upgrades the tables to the version of this image. It may
# run again at any time.
set -eu
SQL_PASSWORD="$(cat /run/secrets/postgres)"
export SQL_PASSWORD
for x in temporal:temporal temporal_visibility:visibility; do
  db="${x%%:*}" folder="/etc/temporal/schema/postgresql/v12/${x##*:}/versioned"
  temporal-sql-tool --database "$db" create-database
  temporal-sql-tool --database "$db" setup-schema --version 0.0
  temporal-sql-tool --database "$db" update-schema --schema-dir "$folder"
done
