package request

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/traces"
)

// LargeReadSpan limits the reading of a large response; until then its attempt is not dead.
const LargeReadSpan = 4 * time.Minute

// keepSpan is the span of each renewal of the lease during a long reading.
const keepSpan = 10 * time.Second

// Ask describes a request to make.
type Ask struct {
	// Start names the crawl or prerequisite, and its kind. Do fills in Shared, Hold, Span and Claim.
	Start crawl.Start
	URL   urls.URL
	// FactsOf is the domain whose facts are returned; empty means Start.Domain.
	FactsOf string
	Header  http.Header
	// WantBody reports from a response's header whether to read its body.
	WantBody func(*fetch.Response) bool

	// Pace and Health belong to the domain. Run is the run that makes the request.
	Pace   decide.Pace
	Health crawl.Health
	Run    crawl.RunFacts
	// Spared is the time of the attempts taken back between the domain's last connection and Now.
	Spared time.Duration
	// Worked is set if the domain was reached recently and has not failed since.
	Worked bool
	// Retry is set if the page is retried after a failure of the site.
	Retry bool
	// Probe is set if the request checks the health of a rested domain.
	Probe bool
	// Now is the time of the facts, on the database's clock.
	Now time.Time

	// Wanted, if set, is called with the lease, because another worker may have made the request.
	Wanted func(context.Context) (bool, error)
	// Read extracts the data to record from a response or an error, before the attempt's pace is
	// known. Its error is our own failure: the attempt is taken back.
	Read func(context.Context, *Exchange) error
	// Settle, if set, is called once the pace is known, just before the attempt is recorded.
	Settle func(*Exchange)
}

// Exchange is a request that was made or attempted.
type Exchange struct {
	// Attempt is the record of the request.
	Attempt crawl.Attempt
	// Response is nil if there was no complete response; then Err is set.
	Response *fetch.Response
	Err      error
	// Trouble classes the response for the back-off. Read and the pace may raise it.
	Trouble politeness.Trouble
	// Interrupted is set if we aborted the request, which says nothing about the site.
	Interrupted bool
	// Away is set if the domain was unreachable for so long that it must be given up.
	Away bool
	// CrawlDelay is the delay that this response itself requests.
	CrawlDelay time.Duration
}

// Result is the result of an Ask.
type Result struct {
	// Lease states the wait if the lease was not granted.
	Lease crawl.Lease
	// Refused is set if our rule or a list forbids all addresses of the host; there is no lease.
	Refused *crawl.Refusal
	// Unwanted is set if Wanted returned false.
	Unwanted bool
	// Exchange is nil unless the request was made.
	Exchange *Exchange
	Recorded crawl.Recorded
}

// Do makes the request, if the guard grants it a lease, and records it. An error is our own
// failure: a *network.Down if this machine's network seems to be down.
func (c *Client) Do(ctx context.Context, ask Ask) (Result, error) {
	ctx, tr := c.Tracer.Begin(ctx, string(ask.Start.Kind))
	res, err := c.do(ctx, ask, tr)
	traced(tr, res, err)
	return res, err
}

func (c *Client) do(ctx context.Context, ask Ask, tr *traces.Attempt) (Result, error) { //nolint:funlen // one step after the other
	tr.Phase("place")
	leaveName, err := c.Network.Admit(ask.URL.Host())
	if err != nil {
		return Result{}, err
	}
	defer leaveName()
	if ask.Start.Kind.Traits().Large {
		if err := c.large.Acquire(ctx, 1); err != nil {
			return Result{}, err
		}
		defer c.large.Release(1)
	}
	place, err := c.place(ctx, ask.Health)
	if err != nil {
		return Result{}, err
	}
	defer func() { place.give() }()
	var seen Observation
	tr.Phase("resolve")
	asked := time.Now()
	t, err := c.resolve(ctx, ask.URL)
	seen.Resolve = time.Since(asked)
	if t.dnsErr != nil {
		tr.Leave(t.dnsErr.Error())
	}
	if err != nil || t.refused != nil {
		return Result{Refused: t.refused}, err
	}
	for !place.holds() { // our share has lapsed, or the worker stops
		place.give()
		again, err := c.place(ctx, ask.Health)
		if err != nil {
			return Result{}, err
		}
		place = again
	}
	leave, err := c.Network.Admit(t.ip())
	if err != nil {
		return Result{}, err
	}
	defer leave()
	tr.Phase("lease")
	began := time.Now()
	start := c.start(ask, t)
	lease, err := c.Store.Begin(ctx, start)
	if err != nil || !lease.Granted {
		return Result{Lease: lease}, err
	}
	if ask.Wanted != nil {
		if wanted, err := ask.Wanted(ctx); err != nil || !wanted {
			abandoned := c.Store.Abandon(context.WithoutCancel(ctx), start, lease.CrawlID, 0, false, "another worker made a request meanwhile")
			return Result{Lease: lease, Unwanted: true}, errors.Join(err, abandoned)
		}
	}
	x := c.exchange(ctx, ask, t, began)
	defer x.Response.Release()
	place.give() // the rest needs no network
	seen.answered(x)
	x.Attempt.CrawlID, x.Attempt.Domain, x.Attempt.FactsOf = lease.CrawlID, start.Domain, ask.FactsOf
	x.Attempt.IP, x.Attempt.Shared = t.ip(), start.Shared
	x.Attempt.URL, x.Attempt.Kind, x.Attempt.Run = ask.URL.String(), start.Kind, ask.Run.Name
	c.trace(ctx, tr, ask, x)
	if err := c.ownTrouble(ctx, x, ask, t, began); err != nil {
		return Result{Lease: lease}, c.abandon(ctx, ask, start, lease, x, err)
	}
	tr.Phase("read")
	reading := time.Now()
	if err := c.read(ctx, ask, x, began.Add(time.Duration(start.Hold))); err != nil {
		return Result{Lease: lease}, c.abandon(ctx, ask, start, lease, x, err)
	}
	seen.Read = time.Since(reading)
	c.pace(ask, x)
	if ask.Settle != nil {
		ask.Settle(x)
	}
	tr.Phase("record")
	seen.Attempt = x.Attempt
	rec, err := c.record(ctx, seen, unanswered(x))
	if alone, ok := errors.AsType[*cutOffError](err); ok {
		return Result{Lease: lease}, c.abandonLate(ctx, ask, start, lease, x, alone)
	}
	return Result{Lease: lease, Exchange: x, Recorded: rec}, err
}

// read calls ask.Read. A long reading renews its lease, so that the attempt does not count as dead.
// Small steps of the lease cost the domain little if this process dies.
func (c *Client) read(ctx context.Context, ask Ask, x *Exchange, until time.Time) error {
	if !ask.Start.Kind.Traits().Large {
		return ask.Read(ctx, x)
	}
	keeping, stop := context.WithTimeout(context.WithoutCancel(ctx), LargeReadSpan)
	kept := make(chan struct{})
	domain, id := x.Attempt.Domain, x.Attempt.CrawlID // Read writes to the attempt concurrently
	go func() {
		defer close(kept)
		c.keep(keeping, domain, id, until)
	}()
	defer func() {
		stop()
		<-kept
	}()
	return ask.Read(ctx, x)
}

func (c *Client) keep(ctx context.Context, domain string, id int64, until time.Time) {
	for sleep(ctx, time.Until(until)/2) {
		until = time.Now().Add(keepSpan)
		if err := c.Store.Keep(ctx, domain, id, keepSpan); err != nil && ctx.Err() == nil {
			c.Warn(ctx, "could not extend the lease of an attempt", "domain", domain, "crawl", id, "error", err)
			until = time.Now().Add(keepSpan / 4)
		}
	}
}

func (c *Client) start(ask Ask, t target) crawl.Start {
	s := ask.Start
	delay, _ := politeness.Delay(ask.Pace.Waits)
	s.Shared = c.shared(s.Domain, t.addr, ask.Pace)
	s.Hold, s.Span = crawl.Millis(c.span()+delay), crawl.Millis(c.span())
	s.Claim, s.Worker = crawl.Millis(crawl.ClaimRenewed), c.Worker()
	return s
}

// exchange fetches within the lease of the slots. Without that deadline a suspended process would
// still read while others request. A cancelled caller, as by a pause, does not abort the request,
// for the site's sake. Only Drain aborts it, and the attempt is taken back.
func (c *Client) exchange(ctx context.Context, ask Ask, t target, began time.Time) *Exchange {
	x := &Exchange{Attempt: crawl.Attempt{Requested: true, RobotsVersion: robotsVersion(ask)}}
	asked, kind := time.Now(), ask.Start.Kind.Traits()
	if x.Err = t.dnsErr; x.Err == nil {
		deadline := began.Add(c.span())
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		defer context.AfterFunc(c.cut, cancel)()
		x.Response, x.Err = c.Fetcher.Do(ctx, fetch.Request{
			URL: ask.URL.String(), Addr: t.addr, Deadline: deadline, Accept: kind.Accept,
			MaxBodyBytes: kind.MaxBytes, Header: ask.Header, WantBody: ask.WantBody, ToFile: kind.Large,
		})
		c.noteAddress(t.addr, x.Err)
	}
	if x.Err != nil {
		failed(x, asked)
	} else {
		answered(x)
	}
	x.Attempt.Outlasted = x.Attempt.EndedAt.Sub(began) > c.span()
	return x
}

func robotsVersion(ask Ask) int64 {
	if ask.Run.Crawl == nil || ask.Run.Crawl.Robots == nil || ask.Start.Prerequisite && !ask.Probe {
		return 0
	}
	return ask.Run.Crawl.Robots.Version
}

const (
	// recordSpan limits the retries of recording a finished attempt.
	recordSpan = 2 * time.Minute
	// recordPauseMax caps the pause between two retries.
	recordPauseMax = 5 * time.Second
)

// Record closes an attempt, whether or not the caller is cancelled, and retries while the database
// is unreachable. An attempt that the database refuses is recorded without the response's content.
func (c *Client) Record(ctx context.Context, at crawl.Attempt) (crawl.Recorded, error) {
	return c.record(ctx, Observation{Attempt: at}, false)
}

// record returns a *cutOffError if both the site and the database were unreachable.
func (c *Client) record(ctx context.Context, seen Observation, unanswered bool) (crawl.Recorded, error) {
	at, began, bare := seen.Attempt.Clean(), time.Now(), false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordSpan)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, recordPauseMax) {
		rec, err := c.Store.Record(ctx, at)
		if err == nil {
			if !rec.Closed {
				c.Warn(ctx, "the lease of the attempt had expired; it is not recorded again",
					"domain", at.Domain, "crawl", at.CrawlID, "outcome", at.Outcome)
			}
			c.LogAttempt(ctx, at)
			seen.Attempt, seen.Record = at, time.Since(began)
			if c.Observe != nil {
				c.Observe(seen)
			}
			return rec, nil
		}
		at.Ended = rec.Ended
		if unanswered && isSilent(err) {
			return rec, &cutOffError{err}
		}
		c.Warn(ctx, "could not record an attempt", "crawl", at.CrawlID, "error", err)
		if errors.Is(err, crawl.ErrRefused) && !bare {
			at, bare = at.Bare(err.Error()), true
			continue
		}
		if !sleep(ctx, pause) {
			return rec, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
