package bench_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/up"
)

// meter stands between a worker and Postgres and times each statement, from its last
// byte on the way to Postgres to the end of its answer. That is the round trip as
// the worker sees it, plus two hops over a local socket.
type meter struct {
	url           string // where to find Postgres through it
	network, addr string // Postgres

	mu         sync.Mutex
	statements map[string]statement
}

// statement is how often one was run, and for how long in all.
type statement struct {
	count int
	total time.Duration
}

// startMeter listens until the benchmark ends.
func startMeter(b *testing.B, database string) *meter {
	b.Helper()
	config, err := pgx.ParseConfig(database)
	require.NoError(b, err)
	m := &meter{statements: map[string]statement{}}
	m.network, m.addr = pgconn.NetworkAddress(config.Host, config.Port)
	dir := up.Dir(b) // a short name: a socket's path is bounded
	m.url = (&url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Path: "/" + config.Database,
		RawQuery: url.Values{"host": {dir}, "port": {"5432"}}.Encode(),
	}).String()
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, listener.Close()) })
	go func() {
		for {
			worker, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go m.join(worker)
		}
	}()
	return m
}

// join passes all on between a worker and Postgres. If either leaves, so does the
// other: the worker connects again.
func (m *meter) join(worker net.Conn) {
	defer worker.Close()
	postgres, err := net.Dial(m.network, m.addr)
	if err != nil {
		return
	}
	defer postgres.Close()
	c := &metered{meter: m, names: map[string]string{}}
	go func() {
		defer worker.Close()
		_ = pass(worker, postgres, false, c.answered) // either side has left
	}()
	_ = pass(postgres, worker, true, c.asked)
}

// read returns a copy of the counts so far. A nil meter returns nil.
func (m *meter) read() map[string]statement {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.statements)
}

// metered is one connection.
type metered struct {
	meter *meter
	names map[string]string // of its prepared statements
	label string            // what is being asked

	mu      sync.Mutex
	pending []asked // in the order of their answers
}

type asked struct {
	label string
	at    time.Time
}

// asked sees a message to Postgres (Postgres, 55.7 Message Formats).
func (c *metered) asked(kind byte, body []byte) {
	switch kind {
	case 'P': // Parse: a name and a statement
		name, rest, _ := strings.Cut(string(body), "\x00")
		c.names[name] = labelOf(rest)
		c.label = "prepare"
		return
	case 'B': // Bind: a portal and the statement's name
		_, rest, _ := strings.Cut(string(body), "\x00")
		name, _, _ := strings.Cut(rest, "\x00")
		c.label = c.names[name]
		return
	case 'Q': // Query
		c.label = labelOf(string(body))
	case 'S': // Sync
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, asked{c.label, time.Now()})
}

// answered sees a message from Postgres.
func (c *metered) answered(kind byte, _ []byte) {
	if kind != 'Z' { // ReadyForQuery
		return
	}
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.mu.Unlock()
		return // the connection has been opened
	}
	first := c.pending[0]
	c.pending = c.pending[1:]
	c.mu.Unlock()
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	s := c.meter.statements[first.label]
	c.meter.statements[first.label] = statement{s.count + 1, s.total + time.Since(first.at)}
}

var (
	statementName = regexp.MustCompile(`-- name: (\w+)`)
	statementWord = regexp.MustCompile(`\w+`)
)

// labelOf is the name that sqlc has given a statement, else its first word.
func labelOf(sql string) string {
	if found := statementName.FindStringSubmatch(sql); found != nil {
		return found[1]
	}
	return strings.ToLower(statementWord.FindString(sql))
}

// pass copies messages until either side leaves, and shows each before its last byte
// is sent. The first one to Postgres has no kind.
func pass(to io.Writer, from io.Reader, toPostgres bool, see func(kind byte, body []byte)) error {
	in, out := bufio.NewReaderSize(from, 64<<10), bufio.NewWriterSize(to, 64<<10)
	for first := toPostgres; ; first = false {
		head := 5 // the kind, and the length of all but the kind
		if first {
			head = 4
		}
		message := make([]byte, head)
		if _, err := io.ReadFull(in, message); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(message[head-4:])) - 4
		message = append(message, make([]byte, max(length, 0))...) //nolint:makezero // it is filled next
		if _, err := io.ReadFull(in, message[head:]); err != nil {
			return err
		}
		if !first {
			see(message[0], message[head:])
		}
		_, err := out.Write(message)
		if in.Buffered() == 0 {
			err = errors.Join(err, out.Flush())
		}
		if err != nil {
			return err
		}
	}
}
