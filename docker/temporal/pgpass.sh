# Sourced by what reads Temporal's database: puts the password where its driver looks
# for one. In Temporal's own settings some characters of a password are lost.
umask 077
printf '*:*:*:*:%s\n' "$(printf %s "$TEMPORAL_DB_PASSWORD" | sed 's/[\\:]/\\&/g')" >/tmp/pgpass
export PGPASSFILE=/tmp/pgpass
unset TEMPORAL_DB_PASSWORD
