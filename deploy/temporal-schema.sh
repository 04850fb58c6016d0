#!/bin/sh
# Makes Temporal's two databases and brings their schemas up to date; harmless
# when there is nothing to do. The address and the user stand in SQL_HOST,
# SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

for pair in temporal:temporal temporal_visibility:visibility; do
  database=${pair%%:*}
  schema=postgresql/v12/${pair##*:}
  temporal-sql-tool --plugin postgres12 --database "$database" create-database
  temporal-sql-tool --plugin postgres12 --database "$database" setup-schema --version 0.0
  temporal-sql-tool --plugin postgres12 --database "$database" update-schema --schema-name "$schema"
done
