package manners_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

const visitorAgent = "examplebot"

// visitor is a client that asks for what a script says, byte by byte.
type visitor struct {
	*web.Web

	host string // of the case
	t    *testing.T
}

// script performs the requests of a client. The returned function changes the log afterwards, so
// that the client need not wait.
type script func(v visitor) func(web.Log)

// scripted is a case with a client that passes and a client that fails.
type scripted struct {
	id        string
	good, bad script
	want      manners.Result // of the bad client; empty is Fail
	reason    string         // part of the reason of that
	agent     string         // of the suite; empty is visitorAgent
}

// asks is a script of requests in a row: each word is a target, with a host before it where
// it is not that of the case.
func asks(words string) script {
	return func(v visitor) func(web.Log) {
		v.ask(words)
		return nil
	}
}

func (v visitor) ask(words string) {
	v.t.Helper()
	for word := range strings.FieldsSeq(words) {
		host, target, _ := strings.Cut(word, "/")
		if host == "" {
			host = v.host
		}
		addr, ok := v.Addr(host)
		require.True(v.t, ok, host)
		v.get(addr, host, "/"+target, whole)
	}
}

// whole reads all of an answer.
const whole = 1 << 40

// get asks an address for a target and reads so many bytes at most. More are words that
// begin the request, and lines of its header.
func (v visitor) get(addr netip.Addr, host, target string, most int64, more ...string) string {
	v.t.Helper()
	var d net.Dialer
	c, err := d.DialContext(v.t.Context(), "tcp4", netip.AddrPortFrom(addr, uint16(v.Port())).String())
	require.NoError(v.t, err)
	return v.talk(c, host, target, most, more...)
}

func (v visitor) talk(c net.Conn, host, target string, most int64, more ...string) string {
	v.t.Helper()
	require.NoError(v.t, c.SetDeadline(time.Now().Add(30*time.Second)))
	method, lines := "GET", strings.Join(more, "\r\n")
	if len(more) > 0 && !strings.Contains(more[0], ":") {
		method, lines = more[0], strings.Join(more[1:], "\r\n")
	}
	if lines != "" {
		lines += "\r\n"
	}
	_, err := io.WriteString(c, method+" "+target+" HTTP/1.1\r\nHost: "+host+":"+strconv.Itoa(v.Port())+
		"\r\nUser-Agent: "+visitorAgent+"\r\nConnection: close\r\n"+lines+"\r\n")
	require.NoError(v.t, err)
	var head bytes.Buffer
	_, err = io.Copy(&head, io.LimitReader(c, min(most, 64<<10)))
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(c, most-int64(head.Len())))
	}
	if err != nil && !isReset(err) {
		require.NoError(v.t, err)
	}
	require.NoError(v.t, c.Close())
	return head.String()
}

// isReset reports whether a site has broken off.
func isReset(err error) bool { return strings.Contains(err.Error(), "reset by peer") }

// overTLS asks for targets over TLS, if the client accepts the certificate.
func (v visitor) overTLS(host string, careless bool, targets ...string) {
	v.t.Helper()
	addr, ok := v.Addr(host)
	require.True(v.t, ok)
	roots := x509.NewCertPool()
	require.True(v.t, roots.AppendCertsFromPEM(v.RootCA()))
	for _, target := range targets {
		d := tls.Dialer{Config: &tls.Config{
			InsecureSkipVerify: careless, MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host,
		}}
		c, err := d.DialContext(v.t.Context(), "tcp4", netip.AddrPortFrom(addr, uint16(v.Port())).String())
		if err != nil {
			require.ErrorContains(v.t, err, "certificate")
			return
		}
		v.talk(c, host, target, whole)
	}
}

// settle waits until the web has seen the end of each request.
func (v visitor) settle() web.Log {
	v.t.Helper()
	var log web.Log
	wait.Until(v.t, func() bool {
		log = v.Log()
		return !slices.ContainsFunc(log, func(r web.Record) bool { return r.InFlight })
	}, 10*time.Second, time.Millisecond)
	return log
}

// resolve looks a host up with the web's name server.
func (v visitor) resolve(host string) []netip.Addr {
	v.t.Helper()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, v.DNSAddr())
	}}
	addrs, err := r.LookupNetIP(v.t.Context(), "ip4", host)
	require.NoError(v.t, err)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs
}

// run plays a script to the web of one case, and judges it.
func run(t *testing.T, id, agent string, play script) manners.Judged {
	t.Helper()
	suite, err := manners.New(manners.Options{Agent: agent, Only: []string{id}})
	require.NoError(t, err)
	w, err := suite.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	v := visitor{Web: w, host: id + ".test", t: t}
	edit := play(v)
	log := v.settle()
	if edit != nil {
		edit(log)
	}
	judged := suite.Judge(log, []manners.Event{{Kind: manners.Started}, {At: time.Hour, Kind: manners.Stopped}})
	require.Len(t, judged, 1)
	return judged[0]
}

// play runs the two scripts of each case.
func play(t *testing.T, cases []scripted) {
	t.Helper()
	for _, c := range cases {
		if c.agent == "" {
			c.agent = visitorAgent
		}
		t.Run(c.id+"/good", func(t *testing.T) {
			t.Parallel()
			got := run(t, c.id, c.agent, c.good)
			require.Equal(t, manners.Pass, got.Result, got.Reason)
		})
		t.Run(c.id+"/bad", func(t *testing.T) {
			t.Parallel()
			got := run(t, c.id, c.agent, c.bad)
			want := c.want
			if want == "" {
				want = manners.Fail
			}
			require.Equal(t, want, got.Result, got.Reason)
			require.Contains(t, got.Reason, c.reason)
			if want == manners.Fail {
				require.NotEmpty(t, got.Seen)
			}
		})
	}
}

// complete asserts that all cases of a group have scripts.
func complete(t *testing.T, group manners.Group, cases []scripted) {
	t.Helper()
	var have []string
	for _, c := range cases {
		have = append(have, c.id)
	}
	require.Subset(t, have, idsOf(group))
}

// idsOf are the cases of a group.
func idsOf(group manners.Group) []string {
	var ids []string
	for _, c := range manners.Cases() {
		if c.Group == group {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// stretch has the answer to a target last longer, and all that came after it come later.
func stretch(log web.Log, target string, by time.Duration) {
	var end time.Duration
	for i := range log {
		if log[i].Target == target {
			end = log[i].End
			log[i].End += by
		}
	}
	for i := range log {
		if log[i].Target != target && log[i].Start > end {
			log[i].Start += by
			log[i].End += by
		}
	}
}
