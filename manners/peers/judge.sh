#!/bin/sh
# Judges one crawler. Usage: judge.sh MANNERS OUT NAME MODE LABEL. MANNERS is the program, OUT a folder for the log.
# The crawler is killed after KILL_AFTER (60s), started again, and ends after FOR (8m). Where SHARES is set, it runs as so
# many processes (shares.sh). What it writes is limited to 2 GiB a file: some answers have no end.
set -eu
if [ $# -ne 5 ]; then
    echo "usage: $0 MANNERS OUT NAME MODE LABEL" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
manners=$1 out=$2 name=$3 label=$5
export MODE="$4"
mkdir -p "$out/state"
out=$(realpath "$out")
export HOSTS_FILE="$out/hosts" CA_FILE="$out/ca.pem" STATE="$out/state" MINUTES=20
if [ -n "${SHARES:-}" ]; then set -- "$here/shares.sh" "$name"; else set -- "$here/$name/run.sh"; fi
ulimit -f 2097152
exec "$manners" serve --write "$out" --agent mannersbot --delay 1s --crawler "$label" \
    --kill-after "${KILL_AFTER:-60s}" --for "${FOR:-8m}" -- sh -c '"$@" "$MANNERS_SEEDS"' sh "$@"
