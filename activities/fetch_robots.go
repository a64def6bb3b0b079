package activities

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
)

// RobotsStore is the rows of robots.txt.
type RobotsStore interface {
	read.RobotsStore
	SaveRobots(ctx context.Context, r crawl.Robots) (failures int, err error)
}

// FetchRobotsInput asks for an origin's robots.txt.
type FetchRobotsInput struct {
	Domain string `json:"domain"`
	Origin string `json:"origin"`
	// Kind is what of the origin to fetch: robots, which is the default, or tdm.
	Kind kinds.Kind `json:"kind,omitempty"`
	// URL is where the last redirect led; empty at first.
	URL string `json:"url,omitempty"`
	// Hops counts the redirects so far.
	Hops int `json:"hops,omitempty"`
	// Queued is set once the domain has waited for its turn on a shared address.
	Queued bool `json:"queued,omitempty"`
}

// FetchRobotsResult says what came of it. Either Done, or Defer, or the same activity
// is to be called again after Wait, with Kind, URL, Hops and Queued, and Origin where it
// is named: that origin's robots.txt is needed first.
type FetchRobotsResult struct {
	Done    bool                `json:"done"`
	Verdict crawl.RobotsVerdict `json:"verdict,omitempty"`
	Detail  string              `json:"detail,omitempty"`
	Wait    settings.Duration   `json:"wait,omitempty"`
	Reason  reasons.Reason      `json:"reason,omitempty"`
	Origin  string              `json:"origin,omitempty"`
	Kind    kinds.Kind          `json:"kind,omitempty"`
	URL     string              `json:"url,omitempty"`
	Hops    int                 `json:"hops,omitempty"`
	Queued  bool                `json:"queued,omitempty"`
	// Defer defers the domain for Wait: its server, or the server of a redirect's target,
	// asks to be left alone for longer than a workflow sleeps.
	Defer bool `json:"defer,omitempty"`
}

// originFetch is one request for what an origin says about all its pages.
type originFetch struct {
	*Activities

	in     FetchRobotsInput
	kind   kinds.Kind
	url    urls.URL
	domain string // of url; differs from in.Domain after a redirect elsewhere
	facts  crawl.Facts
	// other is of domain, where that differs
	other  crawl.Facts
	run    crawl.RunFacts
	stored crawl.Robots

	// what the answer came to
	res     FetchRobotsResult
	trouble error
}

// FetchRobots makes one request for an origin's robots.txt, paced like any other
// request to its domain, and stores what it found. A redirect is one more
// call, and paced too, since it may lead to another domain.
//
// While robots.txt is unreachable nothing of the origin is fetched, unless it was
// read within the last day: then that copy holds for so long. The first failures
// are returned as retryable errors that carry the wait; then the origin is put
// off for an hour, and for twice as long after each further failure, up to 30 days.
// A domain whose name does not exist is given up likewise.
func (a *Activities) FetchRobots(ctx context.Context, in FetchRobotsInput) (FetchRobotsResult, error) {
	defer heartbeat(ctx)()
	res, err := a.fetchRobots(ctx, in)
	if err == nil {
		err = a.keepClaim(ctx, in.Domain, time.Duration(res.Wait))
	}
	return res, orNetworkDown(err)
}

func (a *Activities) fetchRobots(ctx context.Context, in FetchRobotsInput) (FetchRobotsResult, error) {
	f, err := a.newOriginFetch(ctx, in)
	if err != nil {
		return FetchRobotsResult{}, err
	}
	if f.pickRun(); f.run.ID == 0 {
		return FetchRobotsResult{Done: true, Detail: "no run wants anything of the domain any more"}, nil
	}
	return f.fetch(ctx)
}

func (a *Activities) newOriginFetch(ctx context.Context, in FetchRobotsInput) (*originFetch, error) {
	kind := kinds.Robots
	if in.Kind != "" {
		kind = in.Kind
	}
	raw := in.URL
	if raw == "" {
		raw = in.Origin + kind.Traits().Path
	}
	u, err := urls.Parse(raw)
	if err != nil {
		return nil, badInput(err)
	}
	f := &originFetch{Activities: a, in: in, kind: kind, url: u, domain: u.Domain()}
	if f.facts, err = a.store.Next(ctx, in.Domain); err == nil && f.domain != in.Domain {
		f.other, err = a.store.Next(ctx, f.domain)
	}
	return f, err
}

// pickRun finds the run that the request is made for: the one whose page is next.
func (f *originFetch) pickRun() {
	if run := decide.Pick(f.facts, f.facts.Now); run != nil {
		f.run = *run
	} else if len(f.facts.Runs) > 0 {
		f.run = f.facts.Runs[0]
	}
}

// bind has the request made for a run that need not be running yet.
func (f *originFetch) bind(run crawl.Run) {
	f.run = crawl.RunFacts{ID: run.ID, Name: run.Name, Settings: run.Settings}
	f.facts.Runs = append(f.facts.Runs, f.run)
}

// fetch makes the request, if there is one to be made.
func (f *originFetch) fetch(ctx context.Context) (FetchRobotsResult, error) {
	if known, err := f.known(ctx); err != nil || known {
		return f.verdict(f.stored), err
	}
	if why, closed := decide.Closed(f.facts.Domain, f.facts.Now); closed {
		// by now: nothing of the domain is due any more
		return FetchRobotsResult{Done: true, Verdict: f.stored.Verdict, Detail: why}, nil
	}
	if why, closed := decide.Closed(f.other.Domain, f.facts.Now); closed {
		return f.unasked(ctx, "redirects to "+f.domain+", which is not asked: "+why)
	}
	wait, err := f.windowWait(ctx)
	switch {
	case err != nil:
		return FetchRobotsResult{}, err
	case wait > decide.IdleMost && f.domain == f.in.Domain:
		// who asks for pages decides what becomes of a workflow whose window is closed for long
		return FetchRobotsResult{Done: true, Verdict: f.stored.Verdict, Detail: "its window is closed"}, nil
	case wait > 0:
		return f.again(wait, reasons.Window, false), nil
	}
	return f.ask(ctx)
}

// windowWait is how long it is until the windows of both domains are open.
func (f *originFetch) windowWait(ctx context.Context) (time.Duration, error) {
	own, err := f.completeFor(ctx, f.facts, nil)
	other, err2 := f.completeFor(ctx, f.other, nil)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	return politeness.WaitAll(f.facts.Now, append(own.Windows, other.Windows...)), nil
}

// known reads what is stored, and reports whether that is all there is to know: as
// it is if another worker, or an earlier attempt of this very call, has been here.
func (f *originFetch) known(ctx context.Context) (bool, error) {
	stored, err := f.store.Robots(ctx, f.in.Origin)
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		f.stored.Age = -1
		return false, nil
	case err != nil:
		return false, err
	}
	f.stored = stored
	return f.in.Hops == 0 && stored.Fresh > 0 && !f.outdated(stored) && !f.missesTDM(stored), nil
}

func (f *originFetch) outdated(r crawl.Robots) bool {
	return decide.Outdated(decide.Facts{Agent: f.agent, AllowMalformed: f.allowMalformed}, r.Agent, r.Verdict)
}

// ask takes the lease, asks, and judges the answer. A short wait for the lease is
// spent in the process.
func (f *originFetch) ask(ctx context.Context) (FetchRobotsResult, error) {
	health, spared := f.facts.Domain.Health, sparedFor(f.facts)
	if f.domain != f.in.Domain {
		health, spared = f.other.Domain.Health, sparedFor(f.other)
	}
	ask := request.Ask{
		URL: f.url, FactsOf: f.in.Domain, Header: f.conditions(),
		Start: crawl.Start{
			RunID: f.run.ID, Domain: f.domain, Origin: f.url.Origin(), URL: f.url.String(), Kind: f.kind,
			Prerequisite: true, Queued: f.in.Queued,
		},
		WantBody: func(r *fetch.Response) bool { return r.Status >= 200 && r.Status < 300 },
		// A hop to another domain keeps to the stricter of both domains' delays.
		Pace: decide.PaceOf(f.facts).And(decide.PaceOf(f.other)), Health: health, Run: f.run, Now: f.facts.Now, Spared: spared,
		// a robots.txt that was read long ago says little about now
		Worked: f.domain == f.in.Domain && f.stored.Age >= 0 && f.stored.Age < read.RobotsFresh && worked(f.facts),
		Wanted: func(ctx context.Context) (bool, error) {
			known, err := f.known(ctx)
			return !known, err
		},
		Read: f.read, Settle: f.settle,
	}
	for {
		res, err := f.requests.Do(ctx, ask)
		switch {
		case err != nil:
			return FetchRobotsResult{}, err
		case res.Refused != nil:
			return f.refused(ctx, *res.Refused)
		case res.Unwanted:
			return f.verdict(f.stored), nil
		case res.Exchange != nil:
			return f.settled(ctx, res.Exchange)
		}
		l := res.Lease
		ask.Start.Queued = ask.Start.Queued || isQueue(l.Reason)
		if decide.DefersDomain(f.run, l.Wait, l.Reason) {
			return FetchRobotsResult{Defer: true, Wait: settings.Duration(l.Wait), Reason: l.Reason}, nil
		}
		if l.Wait <= 0 || l.Wait > inProcessWait || !sleep(ctx, l.Wait) {
			return f.again(durableWait(l.Wait), l.Reason, isQueue(l.Reason)), nil
		}
	}
}

// settled is what to do after a request. An activity that was cancelled is not run
// again, and its error would fail the workflow: let that wait instead.
func (f *originFetch) settled(ctx context.Context, x *request.Exchange) (FetchRobotsResult, error) {
	if x.Interrupted {
		return FetchRobotsResult{}, x.Err
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](f.trouble); ok && app.Type() == TypeSiteTrouble && stopping(ctx) {
		return f.again(time.Duration(x.Attempt.Delay), x.Attempt.Reason, false), nil
	}
	// The outermost error carries the retry delay: it must not be wrapped.
	return f.res, f.trouble
}

// again is to call the activity again after a wait.
func (f *originFetch) again(wait time.Duration, why reasons.Reason, queued bool) FetchRobotsResult {
	return FetchRobotsResult{
		Wait: settings.Duration(max(wait, 0)), Reason: why, Kind: f.in.Kind, URL: f.in.URL, Hops: f.in.Hops, Queued: queued,
	}
}

// conditions let the server answer 304 where what is stored still holds.
func (f *originFetch) conditions() http.Header {
	if f.kind != kinds.Robots || f.stored.Age < 0 || f.outdated(f.stored) {
		return nil
	}
	h := http.Header{}
	freshness.Conditions(crawl.Visit{ETag: f.stored.ETag, LastModified: f.stored.LastModified}, h)
	return h
}
