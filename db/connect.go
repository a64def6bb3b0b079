package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrURL reports an invalid database URL.
var ErrURL = errors.New("database URL")

// parseURL parses a database URL. Its errors omit the password, which pgx omits only in part.
func parseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	// pgxpool does not distinguish its own default from a given value
	plain, err2 := pgx.ParseConfig(url)
	if err != nil || err2 != nil {
		return nil, fmt.Errorf("%w: %s", ErrURL, describeURL(url))
	}
	if strings.Contains(cfg.ConnConfig.Host, "@") {
		// the rest of a password that pgx has cut short
		return nil, fmt.Errorf("%w: %s", ErrURL, malformedUser)
	}
	if _, isSet := plain.RuntimeParams["pool_max_conns"]; !isSet {
		cfg.MaxConns = max(cfg.MaxConns, PoolConnsDefault)
	}
	return cfg, nil
}

// describeURL returns the error of pgx for an invalid URL, without secrets.
func describeURL(url string) string {
	scheme, rest, isURL := strings.Cut(url, "://")
	if !isURL {
		if strings.Contains(url, "password") {
			return "neither a URL nor key=value pairs"
		}
		return parseError(url)
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	return cmp.Or(parseError(scheme+"://"+passwordParameter.ReplaceAllString(rest, "")), malformedUser)
}

const malformedUser = "the user name or password is malformed: percent-encode special characters, " +
	"or set the password in PGPASSWORD"

var passwordParameter = regexp.MustCompile(`[a-z]*password=[^&]*`)

// parseError returns that error; empty if the URL is valid.
func parseError(url string) string {
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return err.Error()
	}
	return ""
}

// If a network drops packets silently, both ends of a connection wait: Linux for a quarter of an
// hour, Postgres for two hours, with the rows of the client's transaction locked.
const (
	// lostPeerTimeout bounds the silence of the other end before a client closes the connection.
	lostPeerTimeout = 30 * time.Second
	// probeCount is the number of probes in that time.
	probeCount = 4
)

// serverProbes make Postgres end a session, and its transaction, after a minute without its client.
// The client has closed the connection by then.
//
//nolint:gochecknoglobals // a constant, but for its type
var serverProbes = map[string]string{
	"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "4",
	"tcp_user_timeout": "60000",
}

// detectLostPeer makes both ends of a connection detect its loss. Settings of the URL take
// precedence.
func detectLostPeer(cfg *pgxpool.Config) {
	if isLocal(cfg.ConnConfig.Host) {
		return // nothing gets lost within a machine
	}
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: lostPeerTimeout / (probeCount + 1), Interval: lostPeerTimeout / (probeCount + 1), Count: probeCount,
		},
		Control: boundSilence,
	}
	cfg.ConnConfig.DialFunc = dialer.DialContext
	for name, value := range serverProbes {
		if _, isSet := cfg.ConnConfig.RuntimeParams[name]; !isSet {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
}

// isLocal reports whether a host of a database URL is this machine, by socket or loopback address.
func isLocal(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// The roles of connections, with the rights in roles.sql.
const (
	workerRole = "mosey_worker"
	readerRole = "mosey_reader"
)

// sessionSetup omits values from Postgres' log, if the login may. Then it sets the first role that
// the login may set, or else keeps the login's rights. Since Postgres 16 a membership may lack that
// right. Roles belong to a whole server, so the reader's may have no rights in this database yet.
const sessionSetup = `SELECT set_config('log_parameter_max_length_on_error', '0', false),
    CASE WHEN has_parameter_privilege('log_parameter_max_length', 'SET') THEN set_config('log_parameter_max_length', '0', false) END,
    (SELECT set_config('role', r.rolname, false) FROM (
        SELECT p.rolname FROM pg_roles AS p
        WHERE p.rolname = ANY($1::text[])
            AND pg_has_role(p.oid, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)
            AND (p.rolname <> '` + readerRole + `' OR has_table_privilege(p.oid, to_regclass('crawl_runs'), 'SELECT'))
        ORDER BY array_position($1::text[], p.rolname::text) LIMIT 1
    ) AS r)`

func withRole(roles ...string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sessionSetup, roles)
		return err
	}
}

// OpenReader is Open for read-only transactions. If the login lacks the reader's role, it uses the
// worker's or its own rights.
func OpenReader(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, readOnly)
}

func readOnly(cfg *pgxpool.Config) {
	cfg.AfterConnect = withRole(readerRole, workerRole)
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
}
