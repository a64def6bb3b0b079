#!/bin/sh
# Scrapy with the project that this version's `scrapy startproject` writes.
# MODE: default, polite (1 s a host, one request at a time), autothrottle.
. "$(dirname "$0")/../common.sh"
case $MODE in
default) set -- ;;
polite) set -- -s DOWNLOAD_DELAY=1 -s CONCURRENT_REQUESTS_PER_DOMAIN=1 ;;
autothrottle) set -- -s AUTOTHROTTLE_ENABLED=True ;;
*) unknown_mode default polite autothrottle ;;
esac
[ -d project ] || python3 -m scrapy startproject manners project
cp "$here/spider.py" project/manners/spiders/
cd project
crawl python3 -m scrapy crawl manners -a seeds="$seeds" -s USER_AGENT="$AGENT" -s JOBDIR="$STATE/job" "$@"
