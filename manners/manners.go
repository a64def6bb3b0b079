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

// Level is how much a case weighs.
type Level string

// The levels.
const (
	// Must is what a standard requires of crawlers or of HTTP clients.
	Must Level = "must"
	// Should is what a standard recommends.
	Should Level = "should"
	// Opinion is what no standard says and owners of sites wish for.
	Opinion Level = "opinion"
)

// Group is what a case is about.
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

// Case is one thing that a crawler does well or not.
type Case struct {
	// ID names the case, and its host: ID.test.
	ID string

	Group Group
	Level Level

	// Source is the standard and its section; for an opinion, where it is from.
	Source string

	// Title says what a crawler does that passes, in a few words.
	Title string

	// Agent is set if the case needs the crawler's product token.
	Agent bool

	// Direct is set if the case needs to see to which address the crawler connects,
	// which a proxy hides.
	Direct bool

	// Restart is set if the case needs the crawler to be killed and started again.
	Restart bool

	// Silent is set if the case judges connections without a request too.
	Silent bool

	judge func(*Evidence) Verdict
	sites func(Options) []web.Site
}

// Result is how a case ends.
type Result string

// The results.
const (
	Pass Result = "pass"
	Fail Result = "fail"
	// Cautious is a crawler that leaves out more than it was asked to. It does no harm.
	Cautious Result = "cautious"
	// Unreached is a case whose host the crawler did not come to, or not far enough.
	Unreached Result = "unreached"
	// Unjudged is a case that this run cannot show.
	Unjudged Result = "unjudged"
)

// Results lists all results, the worst first.
func Results() []Result { return []Result{Fail, Unreached, Cautious, Unjudged, Pass} }

// Verdict is the judgement of one case.
type Verdict struct {
	Result Result
	// Reason says what was seen.
	Reason string
	// Seen are the requests that show it, at most 5.
	Seen []web.Record
}

// Options are what a run of the suite is about. They are stored with its log.
type Options struct {
	// Agent is the crawler's product token, as robots.txt has it: letters, "-" and "_"
	// (RFC 9309 section 2.2.1). Without one the cases that need it are not judged.
	Agent string `json:"agent,omitempty"`

	// Delay is the least gap between two requests to a host that the crawler was set
	// to keep, from 0 to 1 minute. Cases judge by it where a site does not ask for more.
	Delay time.Duration `json:"delay"`

	// NameServerPort is the port of the name server; 0 is one that is free.
	NameServerPort uint16 `json:"-"`

	// Only are the IDs of the cases to serve and judge; empty is all.
	Only []string `json:"only,omitempty"`

	// Port is the port of all sites; 0 is one that is free.
	Port int `json:"port"`

	// Proxied is set if the crawler comes through the suite's proxy, so that it does not
	// choose addresses.
	Proxied bool `json:"proxied,omitempty"`
}

const delayMost = time.Minute

var token = regexp.MustCompile(`^[A-Za-z_-]{1,64}$`)

// Suite is a web of cases.
type Suite struct {
	cases []Case
	opts  Options
	plan  *web.Plan // of any port: where the hosts are
}

// New makes a suite. It names every option that is out of bounds.
func New(opts Options) (*Suite, error) {
	s := &Suite{opts: opts}
	var errs []error
	if opts.Agent != "" && !token.MatchString(opts.Agent) {
		errs = append(errs, fmt.Errorf("agent %q: want 1 to 64 letters, - or _, as RFC 9309 section 2.2.1 has product tokens", opts.Agent))
	}
	if opts.Delay < 0 || opts.Delay > delayMost {
		errs = append(errs, fmt.Errorf("delay %s: want 0s to %s", opts.Delay, delayMost))
	}
	for _, id := range opts.Only {
		if !slices.ContainsFunc(Cases(), func(c Case) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("case %q: there is none of this name", id))
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

// anyPort stands for a port that is not known yet, where addresses alone count.
const anyPort = 80

// web describes the web of the suite.
func (s *Suite) web() web.Options {
	opts := web.Options{Headers: kept, NameServerPort: s.opts.NameServerPort, Port: s.opts.Port}
	for _, c := range s.cases {
		opts.Sites = append(opts.Sites, c.sites(s.opts)...)
	}
	return opts
}

// Cases lists all cases, by group and name.
func Cases() []Case {
	all := slices.Concat(robotsCases(), robotsAnswerCases(), timeCases(), trafficCases(), linksCases(), safetyCases())
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

// Options are those of the suite, with the port that Start has chosen.
func (s *Suite) Options() Options { return s.opts }

// kept are the headers of requests that cases look at.
var kept = []string{
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

// host is the first host of a case.
func (c Case) host() string { return c.ID + ".test" }

// Hosts are the hosts of a case, the main one first.
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

	// Hosts are those of the case.
	Hosts []string
}

// Judge judges each case by the log. The events are what was done to the crawler.
func (s *Suite) Judge(log web.Log, events []Event) []Judged {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b web.Record) int { return cmp.Compare(a.Start, b.Start) })
	judged := make([]Judged, 0, len(s.cases))
	for _, c := range s.cases {
		e := &Evidence{All: log, Events: events, Options: s.opts, host: c.host(), hosts: c.Hosts(s.opts), network: s.plan.Network()}
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

// addrs are the addresses that only the given hosts have.
func (s *Suite) addrs(hosts []string) map[netip.Addr]bool {
	own := make(map[netip.Addr]bool)
	for _, host := range hosts {
		if addr, ok := s.plan.Addr(host); ok {
			own[addr] = true
		}
	}
	for _, host := range s.plan.Hosts() {
		if addr, ok := s.plan.Addr(host); ok && !slices.Contains(hosts, host) {
			delete(own, addr)
		}
	}
	return own
}

func (s *Suite) verdict(c Case, e *Evidence) Verdict {
	switch {
	case c.Agent && s.opts.Agent == "":
		return unjudged("the product token of the crawler is not known")
	case c.Direct && s.opts.Proxied:
		return unjudged("a proxy hides the addresses")
	case len(e.Log) == 0 && (!c.Silent || len(e.Silent) == 0):
		return unreached("the crawler did not come")
	case c.Restart && !e.killed():
		return unjudged("the crawler was not killed and started again")
	}
	return c.judge(e)
}
