#!/bin/sh
# Creates Temporal's tables, or brings them up to this server's version. Safe
# to run again: what is there already stays.
set -eu
. /pgpass.sh

for name in temporal visibility; do
	case $name in
	temporal) export SQL_DATABASE=temporal ;;
	visibility) export SQL_DATABASE=temporal_visibility ;;
	esac
	temporal-sql-tool setup-schema -v 0.0
	temporal-sql-tool update-schema --schema-name "postgresql/v12/$name"
done
