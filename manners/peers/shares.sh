#!/bin/sh
# Runs a crawler as many processes, each with a share of the seeds: for crawlers that pause between any two requests, of
# whatever host. Usage: shares.sh NAME SEEDS_FILE. Hosts of one case stay together. SHARES (24) is the number of processes.
set -eu
if [ $# -ne 2 ] || [ ! -r "$2" ]; then
    echo "usage: $0 NAME SEEDS_FILE" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
STATE=${STATE:-$(mktemp -d)}
mkdir -p "$STATE"
sort "$2" | awk -v most="${SHARES:-24}" -v dir="$STATE" '{
    split($0, part, "/"); name = part[3]; sub(/:.*/, "", name); sub(/(-[0-9]+|-www)?\.test$/, "", name)
    if (!(name in share)) share[name] = n++ % most
    print > (dir "/seeds." share[name])
}'
trap 'kill -TERM $(jobs -p) 2>/dev/null || :' TERM INT
for seeds in "$STATE"/seeds.*; do
    STATE="$STATE/state.${seeds##*.}" "$here/$1/run.sh" "$seeds" &
done
wait
