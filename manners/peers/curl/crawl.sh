# Usage: crawl.sh SEEDS_FILE, with AGENT set, in an empty folder.
set -eu
sort -u "$1" >queue
sed -E 's#^(https?://[^/]+).*#\1#' queue | sort -u >origins
: >seen
while [ -s queue ]; do
    url=$(head -n 1 queue)
    sed -i 1d queue
    echo "$url" >>seen
    final=$(curl --silent --show-error --location --max-time 30 --max-filesize 10000000 --compressed \
        --user-agent "$AGENT" --output page --write-out '%{url_effective}' -- "$url") || final=
    if [ -n "$final" ] && [ -s page ]; then
        origin=$(echo "$final" | sed -E 's#^(https?://[^/]+).*#\1#')
        # Only links with a scheme or a leading slash are followed.
        grep -aoE 'href="[^"#]+' page | cut -c7- | sed -E "s#^/([^/]|\$)#$origin/\\1#" | grep -E '^https?://' |
            while read -r link; do
                if echo "$link" | sed -E 's#^(https?://[^/]+).*#\1#' | grep -qxFf origins &&
                    ! grep -qxF -- "$link" seen queue; then echo "$link" >>queue; fi
            done || :
    fi
    rm -f page
    sleep 1
done
