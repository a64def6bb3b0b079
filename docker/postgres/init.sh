#!/bin/sh
# Runs once, on an empty volume: a role and its databases for each of the two
# that live here, neither of which can read the other's. mosey may make no roles: those
# that limit workers and readers are made here.
set -eu

psql -v ON_ERROR_STOP=1 --username postgres \
	-v mosey_password="$MOSEY_DB_PASSWORD" \
	-v temporal_password="$TEMPORAL_DB_PASSWORD" <<'SQL'
CREATE ROLE mosey LOGIN PASSWORD :'mosey_password';
CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE ROLE mosey_worker NOLOGIN;
CREATE ROLE mosey_reader NOLOGIN;
GRANT mosey_worker, mosey_reader TO mosey;

CREATE DATABASE mosey OWNER mosey;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;

REVOKE CONNECT ON DATABASE mosey, temporal, temporal_visibility FROM PUBLIC;
GRANT CONNECT ON DATABASE mosey TO mosey_worker, mosey_reader;
SQL
