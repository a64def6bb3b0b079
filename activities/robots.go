package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
)

// schemePutOff is for how long https is left alone at the least once http is asked in its
// place: until the seeds without a scheme are passed over.
const schemePutOff = time.Minute

// read has what the answer says recorded, or followed.
func (f *originFetch) read(ctx context.Context, x *request.Exchange) error {
	if x.Interrupted {
		return nil // it tells nothing about the site
	}
	said, err := read.Origin{
		Store: f.store, Kind: f.kind, URL: f.url, Hops: f.in.Hops, Name: f.in.Origin, Domain: f.in.Domain,
		Stored: f.stored, Conditional: len(f.conditions()) > 0, Agent: f.agent, AllowMalformed: f.allowMalformed,
		Outdated: f.outdated,
	}.Read(ctx, x)
	switch {
	case err != nil:
		return err
	case said.Unreachable != "":
		f.failing(x, said.Unreachable)
	case said.First != "":
		f.res = FetchRobotsResult{Origin: said.First, Kind: kinds.Robots}
	case said.Redirect != nil:
		f.res = FetchRobotsResult{Kind: f.in.Kind, URL: said.Redirect.String(), Hops: f.in.Hops + 1}
	default:
		r := f.named(*said.Robots)
		x.Attempt.Robots, f.res = &r, f.verdict(r)
	}
	return nil
}

// named fills in whose verdict it is.
func (f *originFetch) named(r crawl.Robots) crawl.Robots {
	r.Origin, r.Domain, r.Agent = f.in.Origin, f.in.Domain, f.agent
	return r
}

// verdict is the result for what is known now: done, unless tdmrep.json is wanted
// too.
func (f *originFetch) verdict(r crawl.Robots) FetchRobotsResult {
	if f.missesTDM(r) {
		return FetchRobotsResult{Kind: kinds.TDM}
	}
	return FetchRobotsResult{Done: true, Verdict: r.Verdict, Detail: r.Reason}
}

// missesTDM reports whether an origin's tdmrep.json matters and has not been asked
// for. It is a page like others to robots.txt.
func (f *originFetch) missesTDM(r crawl.Robots) bool {
	return f.run.ID != 0 && decide.WantsTDM(f.run) && len(r.TDM) == 0 && read.Allows(r, usage.TDMPath)
}

// failing notes that robots.txt could not be read; settle knows for how long. It is
// trouble of the domain, not of a page: nothing is fetched without it.
func (f *originFetch) failing(x *request.Exchange, why string) {
	x.Trouble = max(x.Trouble, politeness.TroubleServer)
	f.res = FetchRobotsResult{Detail: crawl.CleanText(why, read.RobotsReasonMax)}
	f.trouble = errUnreachable
}

var errUnreachable = errors.New("robots.txt is unreachable")

// settle decides, once it is known how long the domain is left alone, what becomes
// of a robots.txt that could not be read.
func (f *originFetch) settle(x *request.Exchange) {
	at := &x.Attempt
	if !errors.Is(f.trouble, errUnreachable) {
		return
	}
	why, tries := f.res.Detail, f.stored.Failures+1
	if x.Away {
		tries = max(tries, decide.RobotsTries)
	}
	wait := f.putOff(tries, time.Duration(at.Delay), time.Duration(at.RetryAfter))
	gone := f.nameIsGone(x)
	if gone {
		wait = f.giveUp(at, "its name does not exist")
	}
	unreached := f.unreached(x)
	fallsBack := f.fallsBack(unreached)
	if fallsBack {
		if f.stored.Unreached < decide.RobotsTries {
			wait = time.Duration(at.Delay) // http may redirect here in a moment
		}
		wait = max(wait, schemePutOff)
	}
	r, soon := f.unreachable(why, at.StatusCode, tries, wait)
	r.Unreached = unreached
	soon = soon && !gone && !fallsBack
	at.Robots, f.res, f.trouble = &r, f.verdict(r), nil
	if soon {
		at.Reason = reasons.Robots
		f.res, f.trouble = FetchRobotsResult{}, f.tryAgain(tries, why, wait)
	}
}

// nameIsGone reports whether the domain's name has been missing for so long, and for
// all of its origins, that the domain is out of reach. Any other failure puts off the
// origin alone: its domain may have others.
func (f *originFetch) nameIsGone(x *request.Exchange) bool {
	return f.domain == f.in.Domain && errors.Is(x.Err, dns.ErrNotFound) &&
		f.facts.Domain.Reachable == 0 && politeness.NameGone(*x.Attempt.Health, f.facts.Now)
}

// unreached is how many requests in a row the origin has not answered, this one included.
// A name that cannot be resolved says nothing about it. A connection that is refused says
// as much as two that are not answered, and a port that has no TLS for us as all of them.
func (f *originFetch) unreached(x *request.Exchange) int {
	failure, noAnswer := errors.AsType[*fetch.Error](x.Err)
	switch {
	case x.Response != nil, x.Attempt.StatusCode != 0, f.in.Hops > 0:
		return 0
	case !noAnswer:
		return f.stored.Unreached
	case failure.NoTLS():
		return max(f.stored.Unreached, decide.RobotsTries)
	case failure.Refused():
		return f.stored.Unreached + decide.RobotsTries/2
	}
	return f.stored.Unreached + 1
}

// fallsBack reports whether http is asked instead for seeds that were given without a
// scheme.
func (f *originFetch) fallsBack(unreached int) bool {
	return f.facts.Domain.Bare && decide.FallsBack(f.in.Origin, crawl.RobotsFacts{
		Verdict: crawl.RobotsUnreachable, Unreached: unreached, Read: f.stored.Age >= 0,
	})
}

// giveUp makes the domain unreachable, and returns for how long.
func (f *originFetch) giveUp(at *crawl.Attempt, why string) time.Duration {
	at.Health.GivenUp++
	wait := politeness.GiveUp(at.Health.GivenUp)
	at.GiveUp, at.GiveUpReason, at.GiveUpFor = crawl.DomainUnreachable, why, crawl.Millis(wait)
	return wait
}

func (f *originFetch) tryAgain(tries int, why string, wait time.Duration) error {
	return siteTrouble(fmt.Sprintf("%s/robots.txt: try %d of %d: %s; again in %s",
		f.in.Origin, tries, decide.RobotsTries, why, wait.Round(time.Millisecond)), wait)
}

// putOff is how long robots.txt is not asked for again after so many failures in a
// row: as long as the domain is left alone, later as for what was given up.
func (f *originFetch) putOff(failures int, delay, after time.Duration) time.Duration {
	if failures < decide.RobotsTries {
		return max(delay, after)
	}
	return max(politeness.GiveUp(failures-decide.RobotsTries+1), after)
}

// unreachable is the verdict on a robots.txt that could not be read, and whether it
// is to be tried again soon.
func (f *originFetch) unreachable(why string, status, tries int, wait time.Duration) (r crawl.Robots, soon bool) {
	if f.holdsCopy() {
		r = f.stored
		left := read.RobotsFresh - f.stored.Age
		r.Fresh, r.StatusCode, r.Failed = crawl.Millis(min(max(wait, read.RobotsFreshLeast), left)), status, true
		r.Reason = fmt.Sprintf("%s: the copy read %s ago holds", why, f.stored.Age.Round(time.Second))
		return f.named(r), false
	}
	r = f.named(crawl.Robots{
		Verdict: crawl.RobotsUnreachable, StatusCode: status, Fresh: crawl.Millis(wait),
		Reason: why + ": nothing is fetched until it can be read",
		// a host in trouble is not to be asked faster
		CrawlDelay: f.stored.CrawlDelay,
	})
	return r, tries < decide.RobotsTries && wait <= time.Duration(*f.run.Settings.DeferAfter)
}

// refused is for a host of which no address may be asked. That is our own rule: its
// domain is deferred, and nothing said of its robots.txt. One that a robots.txt
// redirects to is no part of the web, which is that site's fault.
func (f *originFetch) refused(ctx context.Context, r crawl.Refusal) (FetchRobotsResult, error) {
	if f.domain != f.in.Domain {
		return f.unasked(ctx, fmt.Sprintf("redirects to %s, whose address %s is %s", f.domain, r.Addr, cmp.Or(r.Listed.Listed(), "not public")))
	}
	d, err := f.refuse(ctx, f.facts, f.url.Host(), r)
	return FetchRobotsResult{Done: true, Detail: d.Why}, err
}

// unasked stores that robots.txt cannot be asked for: no request was made.
func (f *originFetch) unasked(ctx context.Context, why string) (FetchRobotsResult, error) {
	why = crawl.CleanText(why, read.RobotsReasonMax)
	tries := f.stored.Failures + 1
	normal, _ := politeness.Delay(decide.PaceOf(f.facts).Waits)
	penalty := politeness.Backoff(politeness.TroubleSetup, tries, normal, f.jitter())
	wait := f.putOff(tries, max(penalty, normal), 0)
	r, soon := f.unreachable(why, 0, tries, wait)
	if _, err := f.store.SaveRobots(ctx, r); err != nil {
		return FetchRobotsResult{}, err
	}
	if soon {
		return FetchRobotsResult{}, f.tryAgain(tries, why, wait)
	}
	return f.verdict(r), nil
}

// holdsCopy reports whether what was read last may still be gone by.
func (f *originFetch) holdsCopy() bool {
	switch f.stored.Verdict {
	case crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsDisallowAll:
		return !f.outdated(f.stored) && f.stored.Age >= 0 && f.stored.Age < read.RobotsFresh
	case crawl.RobotsUnknown, crawl.RobotsUnreachable:
	}
	return false
}
