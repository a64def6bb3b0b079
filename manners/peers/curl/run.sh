#!/bin/sh
# A loop around curl that knows nothing of robots.txt: the crawler of a lazy afternoon. One page a second.
. "$(dirname "$0")/../common.sh"
crawl sh "$here/crawl.sh" "$seeds"
