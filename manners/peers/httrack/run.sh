#!/bin/sh
# HTTrack: one connection, at most one new connection a second, all of robots.txt obeyed (-s2, the default).
# HTTrack does not read http_proxy: -P gives it HOST:PORT.
. "$(dirname "$0")/../common.sh"
set -- --sockets=1 --connection-per-second=1 --robots=2 --user-agent "$AGENT" --path "$STATE/files" --quiet --disable-security-limits
if [ -n "${http_proxy:-}" ]; then
    proxy=${http_proxy#*://}
    set -- "$@" --proxy "${proxy%/}"
fi
crawl httrack --list "$seeds" "$@"
