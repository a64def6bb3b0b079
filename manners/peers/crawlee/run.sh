#!/bin/sh
# Crawlee's CheerioCrawler. MODE: default (Crawlee ignores robots.txt), robots (respectRobotsTxtFile).
# Install first: npm ci
# Crawlee does not read http_proxy, so crawl.mjs hands it on. Crawlee fetches robots.txt without the proxy, and crawls
# on when that fails. MODE=robots therefore needs HOSTS_FILE or RESOLVER.
. "$(dirname "$0")/../common.sh"
case $MODE in
default | robots) ;;
*) unknown_mode default robots ;;
esac
CRAWLEE_STORAGE_DIR="$STATE/storage" CRAWLEE_PURGE_ON_START=0 crawl node "$here/crawl.mjs" "$seeds"
