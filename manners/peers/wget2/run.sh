#!/bin/sh
# GNU Wget2, recursive, with one thread. robots.txt is obeyed by default. MODE: default, mirror.
. "$(dirname "$0")/../common.sh"
case $MODE in
default) set -- --recursive ;;
mirror) set -- --mirror ;;
*) unknown_mode default mirror ;;
esac
if [ -n "${CA_FILE:-}" ]; then set -- "$@" --ca-certificate="$CA_FILE"; fi
set -- "$@" --wait=1 --max-threads=1 --no-verbose --user-agent="$AGENT" --directory-prefix="$STATE/files" --input-file="$seeds"
# Status 8 says that a server answered with an error, which a crawl always meets.
crawl wget2 "$@" || [ "$status" -eq 8 ] || exit "$status"
