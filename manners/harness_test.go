package manners_test

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/test/wait"
)

// plot lists the actions of a client, one word each:
//
//	/target, host/target   Request a target. The default host is the case's host.
//	HEAD:/target           Request it with another method.
//	/target[Name=value]    Add headers, separated by ;;. An underscore in a value is a space.
//	/target!               Close the connection without waiting for the response.
//	+3s, -50ms             Send the next request later, or before the previous response.
//	kill                   Kill the client and restart it.
//
// The test adds the pauses to the log afterwards and need not wait for them, because the sites of
// the suite respond by the count of requests, not by the time.
type plot string

// plotted is a case with a plot that passes and a plot that fails.
type plotted struct {
	id        string
	good, bad plot
	reason    string         // part of the reason of the bad one
	want      manners.Result // of the bad one; empty is Fail
	ok        manners.Result // of the good one; empty is Pass
}

// pause is a shift of all requests from the n-th on.
type pause struct {
	n  int
	by time.Duration
}

const plotDelay = time.Second

// playPlot has the client visit the web of one case, and judges it.
func playPlot(t *testing.T, id string, p plot, opts manners.Options) manners.Judged {
	t.Helper()
	opts.Only = []string{id}
	suite, err := manners.New(opts)
	require.NoError(t, err)
	w, err := suite.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	v := visitor{Web: w, host: id + ".test", t: t}
	var pauses []pause
	var kills []int
	asked := 0
	for word := range strings.FieldsSeq(string(p)) {
		switch {
		case word == "kill":
			kills = append(kills, asked)
		case word[0] == '+' || word[0] == '-':
			by, err := time.ParseDuration(word)
			require.NoError(t, err)
			pauses = append(pauses, pause{asked, by})
		default:
			v.askWord(word)
			asked++
			require.Len(t, v.settle(), asked)
		}
	}
	log := v.settle()
	var events []manners.Event
	shift := time.Duration(0)
	at := func(n int) time.Duration {
		if n == 0 {
			return 0
		}
		return log[n-1].End
	}
	for n := 0; n <= len(log); n++ {
		for _, k := range kills {
			if k == n {
				events = append(events, manners.Event{At: at(n), Kind: manners.Killed}, manners.Event{At: at(n), Kind: manners.Started})
			}
		}
		for _, s := range pauses {
			if s.n == n {
				shift += s.by
			}
		}
		if n < len(log) {
			log[n].Start += shift
			log[n].End += shift
		}
	}
	events = append(events, manners.Event{At: at(len(log)) + shiftAfter(pauses, len(log)), Kind: manners.Ended})
	judged := suite.Judge(log, events)
	require.Len(t, judged, 1)
	return judged[0]
}

// shiftAfter are the pauses after the last request.
func shiftAfter(pauses []pause, n int) (sum time.Duration) {
	for _, p := range pauses {
		if p.n == n {
			sum += p.by
		}
	}
	return sum
}

// askWord sends one request of a plot.
func (v visitor) askWord(word string) {
	v.t.Helper()
	word, leaves := strings.CutSuffix(word, "!")
	method := "GET"
	if m, rest, ok := strings.Cut(word, ":"); ok && strings.ToUpper(m) == m && !strings.ContainsAny(m, "/[") {
		method, word = m, rest
	}
	lines := map[string]string{"User-Agent": visitorAgent + "/1.0 (+http://bot.example/)"}
	if at := strings.IndexByte(word, '['); at >= 0 {
		for pair := range strings.SplitSeq(strings.TrimSuffix(word[at+1:], "]"), ";;") {
			name, value, _ := strings.Cut(pair, "=")
			lines[name] = strings.ReplaceAll(value, "_", " ")
		}
		word = word[:at]
	}
	host, target, _ := strings.Cut(word, "/")
	if host == "" {
		host = v.host
	}
	addr, ok := v.Addr(host)
	require.True(v.t, ok, host)
	if _, ok := lines["Host"]; !ok {
		lines["Host"] = host + ":" + strconv.Itoa(v.Port())
	}
	var b strings.Builder
	b.WriteString(method + " /" + target + " HTTP/1.1\r\nConnection: close\r\n")
	for name, value := range lines {
		b.WriteString(name + ": " + value + "\r\n")
	}
	var d net.Dialer
	c, err := d.DialContext(v.t.Context(), "tcp4", netip.AddrPortFrom(addr, uint16(v.Port())).String())
	require.NoError(v.t, err)
	defer func() { require.NoError(v.t, c.Close()) }()
	_, err = io.WriteString(c, b.String()+"\r\n")
	require.NoError(v.t, err)
	if leaves {
		// The site has to have read the request before its client is gone.
		wait.Until(v.t, func() bool { return v.reads(target) }, 10*time.Second, time.Millisecond)
		return
	}
	require.NoError(v.t, c.SetDeadline(time.Now().Add(30*time.Second)))
	if _, err := io.Copy(io.Discard, c); err != nil && !isReset(err) {
		require.NoError(v.t, err)
	}
}

// reads reports whether a request for a target is being answered.
func (v visitor) reads(target string) bool {
	for _, r := range v.Log() {
		if r.InFlight && r.Target == "/"+target {
			return true
		}
	}
	return false
}

// playPlots plays both plots of each case, at a delay of a second.
func playPlots(t *testing.T, cases []plotted) {
	t.Helper()
	one := func(name, id string, p plot, want manners.Result, reason string) {
		t.Run(id+"/"+name, func(t *testing.T) {
			t.Parallel()
			got := playPlot(t, id, p, manners.Options{Agent: visitorAgent, Delay: plotDelay})
			require.Equal(t, want, got.Result, got.Reason)
			require.Contains(t, got.Reason, reason)
			if want == manners.Fail {
				require.NotEmpty(t, got.Seen)
			}
		})
	}
	for _, c := range cases {
		if c.ok == "" {
			c.ok = manners.Pass
		}
		if c.want == "" {
			c.want = manners.Fail
		}
		one("good", c.id, c.good, c.ok, "")
		one("bad", c.id, c.bad, c.want, c.reason)
	}
}

// plotsComplete asserts that all cases of a group have plots.
func plotsComplete(t *testing.T, group manners.Group, cases []plotted) {
	t.Helper()
	var have []string
	for _, c := range cases {
		have = append(have, c.id)
	}
	require.ElementsMatch(t, idsOf(group), have)
}

// inARow is a plot of targets with the same pause between each two.
func inARow(pause string, words string) plot {
	return plot(strings.Join(strings.Fields(words), " "+pause+" "))
}
