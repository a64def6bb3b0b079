#!/bin/sh
# Colly. MODE: default (Colly ignores robots.txt), robots (IgnoreRobotsTxt = false).
# Build first: go build -o crawl .
. "$(dirname "$0")/../common.sh"
case $MODE in
default) set -- ;;
robots) set -- -robots ;;
*) unknown_mode default robots ;;
esac
crawl "$here/crawl" -seeds "$seeds" -agent "$AGENT" "$@"
