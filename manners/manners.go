package manners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// Level is the weight of a case.
type Level string

// The levels.
const (
	// Must is a requirement of a standard for crawlers or HTTP clients.
	Must Level = "must"
	// Should is a recommendation of a standard.
	Should Level = "should"
	// Opinion is a wish of site owners that no standard covers.
	Opinion Level = "opinion"
)

// Group is the subject of a case.
type Group string

// The groups, in the order of reports.
const (
	GroupRobots  Group = "robots.txt"
	GroupTime    Group = "time"
	GroupTraffic Group = "requests"
	GroupLinks   Group = "links"
	GroupSafety  Group = "safety"
)

// Groups lists all groups, in the order of reports.
func Groups() []Group {
	return []Group{GroupRobots, GroupTime, GroupTraffic, GroupLinks, GroupSafety}
}

// Case is one rule that a crawler keeps or breaks.
type Case struct {
	// ID names the case, and its host: ID.test.
	ID string

	Group Group
	Level Level

	// Source is the standard and its section; for an opinion, its origin.
	Source string

	// Title describes in a few words a crawler that passes.
	Title string

	// Agent is set if the case needs the crawler's product token.
	Agent bool

	// Direct is set if the case needs the address to which the crawler connects, which a proxy
	// hides.
	Direct bool

	// Restart is set if the case needs the crawler to be killed and restarted.
	Restart bool

	// Silent is set if the case judges connections without a request too.
	Silent bool

	judge func(*Evidence) Verdict
	sites func(Options) []web.Site
}

// Result is the outcome of a case.
type Result string

// The results.
const (
	Pass Result = "pass"
	Fail Result = "fail"
	// Cautious is a crawler that left out more than necessary, which does no harm.
	Cautious Result = "cautious"
	// Unreached is a case whose host the crawler did not reach, or not far enough.
	Unreached Result = "unreached"
	// Unjudged is a case that this run cannot show.
	Unjudged Result = "unjudged"
)

// Results lists all results, the worst first.
func Results() []Result { return []Result{Fail, Unreached, Cautious, Unjudged, Pass} }

// Verdict is the judgement of one case.
type Verdict struct {
	Result Result
	// Reason describes the observation.
	Reason string
	// Seen are the requests that prove it, at most 5.
	Seen []web.Record
}

// Options configure a run of the suite. They are stored with its log.
type Options struct {
	// Agent is the crawler's product token in robots.txt: letters, "-" and "_" (RFC 9309 section
	// 2.2.1). Empty leaves the cases that need it unjudged.
	Agent string `json:"agent,omitempty"`

	// Delay is the least gap between two requests to a host that the crawler was given, from 0 to 1
	// minute. Cases judge by it unless a site requests more.
	Delay time.Duration `json:"delay"`

	// NameServerPort is the port of the name server; 0 chooses a free one.
	NameServerPort uint16 `json:"-"`

	// Only are the IDs of the cases to serve and judge; empty means all.
	Only []string `json:"only,omitempty"`

	// Port is the port of all sites; 0 chooses a free one.
	Port int `json:"port"`

	// Proxied is set if the crawler uses the suite's proxy, so that it does not choose addresses.
	Proxied bool `json:"proxied,omitempty"`
}

const maxDelay = time.Minute

var token = regexp.MustCompile(`^[A-Za-z_-]{1,64}$`)

// Suite is a web of cases.
type Suite struct {
	cases []Case
	opts  Options
	plan  *web.Plan // of any port; maps hosts to addresses
}

// New makes a suite. Its error names every option out of bounds.
func New(opts Options) (*Suite, error) {
	s := &Suite{opts: opts}
	var errs []error
	if opts.Agent != "" && !token.MatchString(opts.Agent) {
		errs = append(errs, fmt.Errorf("agent %q: want 1 to 64 letters, - or _, as RFC 9309 section 2.2.1 has product tokens", opts.Agent))
	}
	if opts.Delay < 0 || opts.Delay > maxDelay {
		errs = append(errs, fmt.Errorf("delay %s: want 0s to %s", opts.Delay, maxDelay))
	}
	for _, id := range opts.Only {
		if !slices.ContainsFunc(Cases(), func(c Case) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("unknown case %q", id))
		}
	}
	for _, c := range Cases() {
		if len(opts.Only) == 0 || slices.Contains(opts.Only, c.ID) {
			s.cases = append(s.cases, c)
		}
	}
	layout := s.web()
	layout.Port = cmp.Or(layout.Port, anyPort)
	var err error
	if s.plan, err = web.NewPlan(layout); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// anyPort replaces a port that is not known yet, where only addresses count.
const anyPort = 80

// web returns the options of the suite's web.
func (s *Suite) web() web.Options {
	opts := web.Options{Headers: loggedHeaders, NameServerPort: s.opts.NameServerPort, Port: s.opts.Port}
	for _, c := range s.cases {
		opts.Sites = append(opts.Sites, c.sites(s.opts)...)
	}
	return opts
}

// Cases lists all cases, by group and name.
func Cases() []Case {
	all := slices.Concat(robotsCases(), robotsAnswerCases(), timeCases(), trafficCases(), linksCases(),
		privateCases(), tlsCases(), trapCases(), bombCases(), brokenCases())
	order := Groups()
	slices.SortFunc(all, func(a, b Case) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Group), slices.Index(order, b.Group)),
			cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Cases lists the cases of the suite.
func (s *Suite) Cases() []Case { return s.cases }

// Options returns the options of the suite, with the port that Start has chosen.
func (s *Suite) Options() Options { return s.opts }

// loggedHeaders are the headers of requests that cases read.
var loggedHeaders = []string{
	"Accept-Encoding", "Authorization", "Cookie", "From", "If-Modified-Since", "If-None-Match", "Range", "Referer",
}

// Start serves the web of the suite on loopback until ctx is done or it is closed.
func (s *Suite) Start(ctx context.Context) (*web.Web, error) {
	w, err := web.Start(ctx, s.web())
	if err != nil {
		return nil, err
	}
	s.opts.Port = w.Port()
	return w, nil
}

// Hosts returns the hosts of a case, the main one first.
func (c Case) Hosts(opts Options) []string {
	var hosts []string
	for _, s := range c.sites(opts) {
		hosts = append(hosts, s.Host)
		if s.WWW {
			hosts = append(hosts, "www."+s.Host)
		}
	}
	return hosts
}

// Judged is a case and its verdict.
type Judged struct {
	Case
	Verdict

	// Hosts are the hosts of the case.
	Hosts []string
}

// Judge judges each case by the log and the events of the crawler's process.
func (s *Suite) Judge(log web.Log, events []Event) []Judged {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b web.Record) int { return cmp.Compare(a.Start, b.Start) })
	judged := make([]Judged, 0, len(s.cases))
	for _, c := range s.cases {
		e := &Evidence{All: log, Events: events, Options: s.opts, host: c.ID + ".test", hosts: c.Hosts(s.opts), network: s.plan.Network()}
		addrs := s.addrs(e.hosts)
		for _, r := range log {
			switch {
			case slices.Contains(e.hosts, strings.TrimSuffix(hostName(r.Host), ".")):
				e.Log = append(e.Log, r)
			case r.Host == "" && addrs[r.LocalAddr.Addr()]:
				e.Silent = append(e.Silent, r)
			}
		}
		judged = append(judged, Judged{Case: c, Verdict: s.verdict(c, e), Hosts: e.hosts})
	}
	return judged
}

// addrs returns the addresses that only the given hosts have.
func (s *Suite) addrs(hosts []string) map[netip.Addr]bool {
	exclusive := make(map[netip.Addr]bool)
	for _, host := range hosts {
		if addr, ok := s.plan.Addr(host); ok {
			exclusive[addr] = true
		}
	}
	for _, host := range s.plan.Hosts() {
		if addr, ok := s.plan.Addr(host); ok && !slices.Contains(hosts, host) {
			delete(exclusive, addr)
		}
	}
	return exclusive
}

func (s *Suite) verdict(c Case, e *Evidence) Verdict {
	kill := slices.IndexFunc(e.Events, func(ev Event) bool { return ev.Kind == Killed })
	isRestarted := kill >= 0 && slices.ContainsFunc(e.Events[kill:], func(ev Event) bool { return ev.Kind == Started })
	switch {
	case c.Agent && s.opts.Agent == "":
		return unjudged("the product token of the crawler is unknown")
	case c.Direct && s.opts.Proxied:
		return unjudged("a proxy hides the addresses")
	case len(e.Log) == 0 && (!c.Silent || len(e.Silent) == 0):
		return unreached("the crawler made no request")
	case c.Restart && !isRestarted:
		return unjudged("the crawler was not killed and started again")
	}
	return c.judge(e)
}
