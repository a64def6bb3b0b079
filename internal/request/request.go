package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/traces"
)

// LargeReadTimeout limits the reading of a large response; until then its attempt is not dead.
const LargeReadTimeout = 4 * time.Minute

// LongReads is the number of requests at a time whose reading may take long.
const LongReads = 16

// leaseExtension is the span of each renewal of the lease during a long reading.
const leaseExtension = 10 * time.Second

// Request describes a request to make.
type Request struct {
	// Start names the crawl or prerequisite, and its kind. Do fills in Shared, Hold, MaxDuration and
	// Claim.
	Start crawl.Start
	URL   urls.Spelt
	// FactsDomain is the domain whose facts are returned; empty means Start.Domain.
	FactsDomain string
	Header      http.Header
	// WantBody reports from a response's header whether to read its body.
	WantBody func(*fetch.Response) bool

	// Pace and Health belong to the domain. Run is the run that makes the request.
	Pace   decide.Pace
	Health crawl.Health
	Run    crawl.RunFacts
	// WithdrawnTime is the time of the attempts undone between the domain's last connection and
	// Now.
	WithdrawnTime time.Duration
	// ReachedRecently is set if the domain was reached recently and has not failed since.
	ReachedRecently bool
	// Retry is set if the page is retried after a failure of the site.
	Retry bool
	// Probe is set if the request checks the health of a rested domain.
	Probe bool
	// Now is the time of the facts, on the database's clock.
	Now time.Time

	// StillWanted, if set, is called with the lease, because another worker may have made the request.
	StillWanted func(context.Context) (bool, error)
	// IsLongRead is set if Read may take long: the lease is renewed meanwhile, and few such requests
	// are made at a time.
	IsLongRead bool
	// Read extracts the data to record from a response or an error, before the attempt's pace is
	// known. Its error is our own failure: the attempt is undone.
	Read func(context.Context, *Exchange) error
	// Archives reports whether the publisher of a response that was read permits that it is archived.
	// nil archives each response.
	Archives func(*Exchange) bool
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
	// FailureClass classes the response for the back-off. Read and the pace may raise it.
	FailureClass politeness.FailureClass
	// Interrupted is set if we aborted the request, which shows nothing about the site.
	Interrupted bool
	// Unreachable is set if the domain was unreachable for so long that it must be abandoned.
	Unreachable bool
	// CrawlDelay is the delay that this response itself requests.
	CrawlDelay time.Duration
}

// Result is the result of a Request.
type Result struct {
	// Lease states the wait if the lease was not granted.
	Lease crawl.Lease
	// Refused is set if our rule or a list forbids all addresses of the host; there is no lease.
	Refused *crawl.Refusal
	// Unwanted is set if StillWanted returned false.
	Unwanted bool
	// Exchange is nil unless the request was made.
	Exchange *Exchange
	Recorded crawl.RecordResult
}

// Do makes the request, if the guard grants it a lease, and records it. An error is our own
// failure: a *network.DownError if this machine's network seems to be down.
func (c *Client) Do(ctx context.Context, req Request) (Result, error) {
	ctx, tr := c.Tracer.Begin(ctx, string(req.Start.Kind))
	res, err := c.do(ctx, req, tr)
	endTrace(tr, res, err)
	return res, err
}

func (c *Client) do(ctx context.Context, req Request, tr *traces.Attempt) (Result, error) { //nolint:funlen // one step after the other
	tr.Phase("permit")
	req, err := c.archiving(ctx, req)
	if err != nil {
		return Result{}, err
	}
	leaveName, err := c.Network.Admit(req.URL.Host())
	if err != nil {
		return Result{}, err
	}
	defer leaveName()
	if req.Start.Kind.Traits().Large {
		if err := c.large.Acquire(ctx, 1); err != nil {
			return Result{}, err
		}
		defer c.large.Release(1)
	}
	if req.IsLongRead {
		if err := c.longReads.Acquire(ctx, 1); err != nil {
			return Result{}, err
		}
		defer c.longReads.Release(1)
	}
	permit, err := c.Permits.acquire(ctx, IsSlow(req.Health))
	if err != nil {
		return Result{}, err
	}
	defer func() { permit.release() }()
	var observation Observation
	tr.Phase("resolve")
	startedAt := time.Now()
	t, err := c.resolve(ctx, req.URL.URL)
	observation.Resolve = time.Since(startedAt)
	if t.dnsErr != nil {
		tr.Leave(t.dnsErr.Error())
	}
	if err != nil || t.refusal != nil {
		return Result{Refused: t.refusal}, err
	}
	for !permit.isValid() { // our share has lapsed, or the worker stops
		permit.release()
		renewed, err := c.Permits.acquire(ctx, IsSlow(req.Health))
		if err != nil {
			return Result{}, err
		}
		permit = renewed
	}
	leave, err := c.Network.Admit(t.ip())
	if err != nil {
		return Result{}, err
	}
	defer leave()
	tr.Phase("lease")
	began := time.Now()
	start := c.start(req, t)
	lease, err := c.Store.Begin(ctx, start)
	if err != nil || !lease.Granted {
		return Result{Lease: lease}, err
	}
	if req.StillWanted != nil {
		if wanted, err := req.StillWanted(ctx); err != nil || !wanted {
			abandoned := c.Store.Abandon(context.WithoutCancel(ctx), start, lease.AttemptID, 0, false, "another worker made a request meanwhile")
			return Result{Lease: lease, Unwanted: true}, errors.Join(err, abandoned)
		}
	}
	x := c.exchange(ctx, req, t, began)
	defer x.Response.Release()
	permit.release() // the rest needs no network
	if r := x.Response; r != nil {
		observation.Connect, observation.FirstByte, observation.Body = r.Connect, r.FirstByte-r.Connect, r.Total-r.FirstByte
	}
	x.Attempt.ID, x.Attempt.Domain, x.Attempt.FactsDomain = lease.AttemptID, start.Domain, req.FactsDomain
	x.Attempt.IP, x.Attempt.Shared = t.ip(), start.Shared
	x.Attempt.URL, x.Attempt.Kind, x.Attempt.Run = req.URL.String(), start.Kind, req.Run.Name
	c.trace(ctx, tr, req, x)
	if err := c.ownFailure(ctx, x, req, t, began); err != nil {
		return Result{Lease: lease}, c.withdraw(ctx, req, start, lease, x, err)
	}
	tr.Phase("read")
	readStart := time.Now()
	if err := c.read(ctx, req, x, began.Add(time.Duration(start.SlotHold))); err != nil {
		return Result{Lease: lease}, c.withdraw(ctx, req, start, lease, x, err)
	}
	observation.Read = time.Since(readStart)
	c.setPace(req, x)
	if req.Settle != nil {
		req.Settle(x)
	}
	tr.Phase("record")
	observation.Attempt = x.Attempt
	rec, err := c.record(ctx, observation, x.Err)
	if errors.Is(err, errCutOff) {
		return Result{Lease: lease}, c.withdrawWithRetry(ctx, req, start, lease, x, err)
	}
	return Result{Lease: lease, Exchange: x, Recorded: rec}, err
}

// read calls req.Read. A long reading renews its lease, so that the attempt does not count as dead.
// Small steps of the lease cost the domain little if this process dies.
func (c *Client) read(ctx context.Context, req Request, x *Exchange, until time.Time) error {
	if !req.Start.Kind.Traits().Large && !req.IsLongRead {
		return req.Read(ctx, x)
	}
	renewCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), LargeReadTimeout)
	renewalDone := make(chan struct{})
	domain, id := x.Attempt.Domain, x.Attempt.ID // Read writes to the attempt concurrently
	go func() {
		defer close(renewalDone)
		c.renewLease(renewCtx, domain, id, until)
	}()
	defer func() {
		stop()
		<-renewalDone
	}()
	return req.Read(ctx, x)
}

func (c *Client) renewLease(ctx context.Context, domain string, id int64, until time.Time) {
	for sleep(ctx, time.Until(until)/2) {
		until = time.Now().Add(leaseExtension)
		if err := c.Store.ExtendLease(ctx, domain, id, leaseExtension); err != nil && ctx.Err() == nil {
			c.Warn(ctx, "could not extend the lease of an attempt", "domain", domain, "crawl", id, "error", err)
			until = time.Now().Add(leaseExtension / 4)
		}
	}
}

func (c *Client) start(req Request, t target) crawl.Start {
	s := req.Start
	delay, _ := politeness.Delay(req.Pace.Waits)
	s.Shared = c.sharedSlots(s.Domain, t.addr, req.Pace)
	s.SlotHold, s.MaxDuration = crawl.Millis(c.leaseDuration()+delay), crawl.Millis(c.leaseDuration())
	s.ClaimDuration, s.Worker = crawl.Millis(crawl.ClaimRenewed), c.Worker()
	return s
}

// exchange fetches within the lease of the slots. Without that deadline a suspended process would
// still read while others request. A cancelled caller, as by a pause, does not abort the request,
// for the site's sake. Only Drain aborts it, and the attempt is undone.
func (c *Client) exchange(ctx context.Context, req Request, t target, began time.Time) *Exchange {
	x := &Exchange{Attempt: crawl.Attempt{Requested: true, RobotsVersion: robotsVersion(req)}}
	startedAt, kind := time.Now(), req.Start.Kind.Traits()
	if x.Err = t.dnsErr; x.Err == nil {
		deadline := began.Add(c.leaseDuration())
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		defer context.AfterFunc(c.aborted, cancel)()
		x.Response, x.Err = c.Fetcher.Do(ctx, fetch.Request{
			URL: req.URL.Address(), Addr: t.addr, Deadline: deadline, Accept: kind.Accept,
			MaxBodyBytes: kind.MaxBytes, Header: req.Header, WantBody: req.WantBody, ToFile: kind.Large,
			Capture: c.Archive != nil,
		})
		c.noteAddress(t.addr, x.Err)
	}
	if x.Err != nil {
		recordFailure(x, startedAt)
	} else {
		recordResponse(x)
	}
	x.Attempt.LeaseExpired = x.Attempt.EndedAt.Sub(began) > c.leaseDuration()
	return x
}

func robotsVersion(req Request) int64 {
	if req.Run.Attempt == nil || req.Run.Attempt.Robots == nil || req.Start.Prerequisite && !req.Probe {
		return 0
	}
	return req.Run.Attempt.Robots.Version
}

const (
	// recordTimeout limits the retries of recording a finished attempt.
	recordTimeout = 2 * time.Minute
	// maxRecordPause caps the pause between two retries.
	maxRecordPause = 5 * time.Second
)

// Record closes an attempt, whether or not the caller is cancelled, and retries while the database
// is unreachable. An attempt that the database refuses is recorded without the response's content.
func (c *Client) Record(ctx context.Context, at crawl.Attempt) (crawl.RecordResult, error) {
	return c.record(ctx, Observation{Attempt: at}, nil)
}

// record returns errCutOff if both the site and the database were unreachable.
func (c *Client) record(ctx context.Context, observation Observation, exchangeErr error) (crawl.RecordResult, error) {
	f, ok := errors.AsType[*fetch.Error](exchangeErr)
	// the request failed as if the network was lost
	isUnanswered := ok && (f.Unreached() || f.Cause == fetch.CauseTimeout)
	at, began, isReduced := observation.Attempt.Clean(), time.Now(), false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxRecordPause) {
		rec, err := c.Store.Record(ctx, at)
		if err == nil {
			if !rec.Closed {
				c.Warn(ctx, "the lease of the attempt had expired; it is not recorded again",
					"domain", at.Domain, "crawl", at.ID, "outcome", at.Outcome)
			}
			c.LogAttempt(ctx, at)
			observation.Attempt, observation.Record = at, time.Since(began)
			if c.Observe != nil {
				c.Observe(observation)
			}
			return rec, nil
		}
		at.Ended = rec.Ended
		if isUnanswered && isDatabaseSilent(err) {
			return rec, fmt.Errorf("%w: %w", errCutOff, err)
		}
		c.Warn(ctx, "could not record an attempt", "crawl", at.ID, "error", err)
		if errors.Is(err, crawl.ErrRefused) && !isReduced {
			at, isReduced = at.WithoutContents(err.Error()), true
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
