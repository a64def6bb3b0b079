#!/bin/sh
# GNU Wget, recursive. robots.txt is obeyed by default. MODE: default (five levels deep), mirror (no limit, with time stamps).
# Hosts are crawled one after another, so --wait is the gap between any two requests.
. "$(dirname "$0")/../common.sh"
case $MODE in
default) set -- --recursive ;;
mirror) set -- --mirror ;;
*) unknown_mode default mirror ;;
esac
if [ -n "${CA_FILE:-}" ]; then set -- "$@" --ca-certificate="$CA_FILE"; fi
set -- "$@" --wait=1 --no-verbose --user-agent="$AGENT" --directory-prefix="$STATE/files" --input-file="$seeds"
# Status 8 says that a server answered with an error, which a crawl always meets.
crawl wget "$@" || [ "$status" -eq 8 ] || exit "$status"
