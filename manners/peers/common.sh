# What every run.sh shares. Usage: run.sh SEEDS_FILE (one URL a line). The crawl stays on the seeds' hosts.
# It ends by itself, by SIGTERM (143) or at the limit (124). Its processes share one group, so kill -9 -GROUP ends them all.
#   http_proxy, https_proxy  the proxy (mode 1)
#   HOSTS_FILE               a hosts file that replaces /etc/hosts for this crawl alone (mode 2; needs unshare)
#   RESOLVER                 an address that answers DNS on port 53; replaces /etc/resolv.conf likewise (mode 2)
#   CA_FILE                  a PEM file of certificates to trust
#   MINUTES                  the crawl ends after this many minutes (10)
#   STATE                    a folder that outlives the run; without it the run starts from nothing
#   MODE                     the variant of a crawler that has several
#   AGENT                    the User-Agent; its product token is mannersbot
set -eu
if [ $# -ne 1 ] || [ ! -r "$1" ]; then
    echo "usage: $0 SEEDS_FILE (a readable file, one URL a line)" >&2
    exit 2
fi

# A private mount namespace gives one process tree its own names, as root or as a user with user namespaces.
if [ -n "${HOSTS_FILE:-}${RESOLVER:-}" ] && [ -z "${MANNERS_INSIDE:-}" ]; then
    export MANNERS_INSIDE=1
    exec unshare --mount --map-root-user sh -euc '
        if [ -n "${HOSTS_FILE:-}" ]; then mount --bind "$HOSTS_FILE" /etc/hosts; fi
        if [ -n "${RESOLVER:-}" ]; then
            mount -t tmpfs none /mnt
            echo "nameserver $RESOLVER" >/mnt/resolv.conf
            mount --bind /mnt/resolv.conf /etc/resolv.conf
        fi
        exec sh "$@"' sh "$0" "$@"
fi

here=$(cd "$(dirname "$0")" && pwd)
seeds=$(realpath "$1")
MODE=${MODE:-default}
AGENT=${AGENT:-mannersbot/1.0 (+http://mannersbot.test/; bot@mannersbot.test)}
MINUTES=${MINUTES:-10}
export AGENT MODE
if [ -n "${CA_FILE:-}" ]; then
    CA_FILE=$(realpath "$CA_FILE")
    export SSL_CERT_FILE="$CA_FILE" REQUESTS_CA_BUNDLE="$CA_FILE" CURL_CA_BUNDLE="$CA_FILE" NODE_EXTRA_CA_CERTS="$CA_FILE"
fi
if [ -z "${STATE:-}" ]; then
    STATE=$(mktemp -d)
    trap 'rm -rf "$STATE"' EXIT
fi
mkdir -p "$STATE"
export STATE
cd "$STATE"

# crawl runs a command to its end or to the limit, and hands a SIGTERM on to it.
crawl() {
    status=0
    timeout --foreground --kill-after=10 "${MINUTES}m" "$@" &
    child=$!
    trap 'kill -TERM "$child" 2>/dev/null || :' TERM INT
    wait "$child" || status=$?
    if [ "$status" -gt 128 ]; then wait "$child" || status=$?; fi
    return "$status"
}

unknown_mode() {
    echo "$0: MODE=$MODE is unknown: use one of $*" >&2
    exit 2
}
