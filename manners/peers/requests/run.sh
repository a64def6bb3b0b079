#!/bin/sh
# The crawler that a tutorial builds: requests, urllib.robotparser and a pause of a second.
. "$(dirname "$0")/../common.sh"
crawl python3 "$here/crawl.py" "$seeds" "$AGENT"
