package decide

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/usage"
)

// Facts holds the input of a decision.
type Facts struct {
	crawl.Facts

	// Windows holds the windows of [WindowTexts], and the site's own, which expire. All must be open.
	Windows []politeness.Windows
	// Ruling is the origin's ruling on the crawl of [Pick]; nil if its robots.txt has no rules.
	Ruling *Ruling
	// Agent is the product token for robots.txt; empty accepts any.
	Agent string
	// AllowMalformed allows everything if a robots.txt cannot be parsed.
	AllowMalformed bool
}

// Ruling is an origin's statement on one page before the request.
type Ruling struct {
	// Allowed is the verdict of Rule, a line of robots.txt; Rule is empty if no rule matches.
	Allowed bool
	Line    int
	Rule    string
	// FrontPageAllowed and LastReachableAllowed are the verdicts on a probe of the front page and of
	// Worked.
	FrontPageAllowed     bool
	LastReachableAllowed bool
	// TDMAllowed reports whether robots.txt allows a request for tdmrep.json, by TDMLine.
	TDMAllowed bool
	TDMLine    int
	// Usage is the statement of robots.txt and tdmrep.json on the page's use.
	Usage usage.Usage
	// Missing is the origin's answer for a page that does not exist; nil if it is unknown. It is
	// requested first if WantsMissing is set, because the origin gives one text for several URLs.
	Missing      *crawl.MissingPage
	WantsMissing bool
}

// Action is the next action.
type Action string

// The actions. Skip and Refuse close the crawl without a request.
const (
	Request Action = "request" // the crawl's page, now
	// Probe requests another page of the origin, to test a domain that has rested.
	Probe             Action = "probe"
	FetchPrerequisite Action = "prerequisite" // first requests its robots.txt or tdmrep.json
	Skip              Action = "skip"         // the page is fresh, or a trap
	Refuse            Action = "refuse"       // its publisher forbids it
	DeferOrigin       Action = "defer origin" // puts off all pending attempts of the origin
	DeferDomain       Action = "defer domain" // ends the domain's workflow until an instant
	Wait              Action = "wait"         // until an instant, then decides again
	Finish            Action = "finish"       // ends the domain's workflow: nothing is due soon
	Done              Action = "done"         // the crawl is closed
)

// Decision is the next action for a domain, or for one crawl of it.
type Decision struct {
	Action Action
	// Run and Crawl are its subject; nil if nothing is due.
	Run     *crawl.RunFacts
	Attempt *crawl.AttemptFacts
	// Prerequisite is for FetchPrerequisite. URL is for Probe, and Target its Visit.RequestTarget.
	Prerequisite kinds.Kind
	URL, Target  string
	// Until ends a wait or a deferral; zero means unknown.
	Until time.Time
	// Reason is the deciding rule, and Explanation explains it.
	Reason      reasons.Reason
	Explanation string
	// Outcome is the outcome that Skip and Refuse record, with the Trap, if any.
	Outcome crawl.Outcome
	Trap    crawl.Trap
	// ByRule is set if a rule of robots.txt refuses the page, ByUsage if the publisher's statement on
	// its use does. Neither is set if the statement could not be read.
	ByRule  bool
	ByUsage bool
	// Pace is the pace of requests to the domain.
	Pace Pace
	// Usage is the known statement on the page's use before the request.
	Usage usage.Usage
	// Missing is the origin's answer for a page that does not exist; nil if it is unknown.
	Missing *crawl.MissingPage
}

// IdleWaitMax is the longest wait of a workflow for a crawl that is not due yet, unless the
// domain's delay is longer. Then it ends, and the dispatcher starts it again in time.
const IdleWaitMax = politeness.BackoffMax

// maxIdleWait returns the longest wait of a workflow for a crawl that is not due yet.
func maxIdleWait(p Pace) time.Duration {
	delay, _ := politeness.Delay(p.Waits)
	return max(IdleWaitMax, delay)
}

// Decide returns the next action for a domain.
func Decide(f Facts, now time.Time) Decision {
	d := Decision{Pace: PaceOf(f.Facts)}
	if closed(f.Domain, now, &d) {
		return d
	}
	run := Pick(f.Facts, now)
	if run == nil {
		return idle(f.Facts, now, d)
	}
	d.Run, d.Attempt = run, run.Attempt
	d = decideAttempt(f, now, d)
	if d.Action == Wait && d.Reason == reasons.Window && d.Until.Sub(now) > maxIdleWait(d.Pace) {
		d.Action = Finish
	}
	return d
}

// Attempt is Decide for the first run's attempt, due or not, for queries about a page.
func Attempt(f Facts, now time.Time) Decision {
	d := Decision{Pace: PaceOf(f.Facts)}
	if len(f.Runs) == 0 || f.Runs[0].Attempt == nil {
		d.Action, d.Explanation = Done, "no run has the page"
		return d
	}
	d.Run, d.Attempt = &f.Runs[0], f.Runs[0].Attempt
	c := d.Attempt
	switch {
	case c.Outcome != "":
		d.Action, d.Explanation = Done, "the page is done"
	case !c.LockedAt.IsZero():
		d.Action, d.Reason, d.Explanation = Wait, reasons.InFlight, "the page is being requested"
	case d.Run.Status != "" && d.Run.Status != crawl.RunRunning:
		d.Action, d.Explanation = Finish, fmt.Sprintf("run %s is %s", d.Run.Name, d.Run.Status)
	case closed(f.Domain, now, &d):
	case BudgetSpent(*d.Run):
		d.Action, d.Explanation = Finish, fmt.Sprintf("run %s has reached its limit", d.Run.Name)
	case c.ScheduledFor.After(now):
		d.Action, d.Until, d.Reason = Wait, c.ScheduledFor, reasons.Scheduled
		d.Explanation = "the page is not due yet"
	default:
		return decideAttempt(f, now, d)
	}
	return d
}

// IsClosed reports whether all requests to a domain are forbidden, and why.
func IsClosed(dom crawl.DomainFacts, now time.Time) (explanation string, isClosed bool) {
	var d Decision
	isClosed = closed(dom, now, &d)
	return d.Explanation, isClosed
}

func closed(dom crawl.DomainFacts, now time.Time, d *Decision) bool {
	if c, forbidden := dom.Controls.FirstForbidding(now); forbidden {
		d.Action, d.Until, d.Reason = Finish, c.Until, reasons.OfControl(string(c.Type))
		d.Explanation = explainControl(c)
		return true
	}
	state := "deferred"
	if dom.Status == crawl.DomainBlocked || dom.Status == crawl.DomainUnreachable {
		state = string(dom.Status)
	}
	switch {
	case dom.DeferredUntil.After(now):
		d.Until, d.Reason = dom.DeferredUntil, reasons.Deferred
	case state == "deferred", !dom.DeferredUntil.IsZero():
		return false // not abandoned, or due for a retry
	}
	d.Action, d.Explanation = Finish, "the domain is "+state
	if dom.Reason != "" {
		d.Explanation += " (" + dom.Reason + ")"
	}
	return true
}

func explainControl(c crawl.Control) string {
	verb := map[crawl.ControlType]string{
		crawl.ControlPause: "paused", crawl.ControlStop: "stopped until it is seeded again", crawl.ControlBlock: "blocked",
	}[c.Type]
	if listed := c.ListLabel(); listed != "" {
		verb = listed + ", as set"
	}
	text := "the domain is " + verb + " by " + c.SetBy
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// idle decides for a domain without due attempts.
func idle(f crawl.Facts, now time.Time, d Decision) Decision {
	free := f.Domain.SlotFree
	if free.After(now) && f.Domain.SlotReason == reasons.InFlight {
		// The worker that holds the lease may have died: its page is retried when the lease ends.
		d.Action, d.Until, d.Reason, d.Explanation = Wait, free, reasons.InFlight, "a request is in flight"
		return d
	}
	if _, run := yieldingRuns(f, now); run != nil {
		d.Action, d.Until, d.Reason, d.Run, d.Attempt = Finish, now, reasons.Yields, run, run.Attempt
		d.Explanation = fmt.Sprintf("the domain yields after %s, because other domains of run %s wait",
			pluralize(*run.Settings.YieldAfter, "request"), run.Name)
		return d
	}
	var due time.Time
	for _, r := range f.Runs {
		if at := r.Due; !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	if due.IsZero() || due.Sub(now) > maxIdleWait(d.Pace) {
		d.Action, d.Until, d.Reason, d.Explanation = Finish, due, reasons.Scheduled, "no page is due"
		return d
	}
	// A due attempt that cannot be leased is being fetched elsewhere.
	d.Action, d.Reason, d.Explanation = Wait, reasons.Scheduled, "no page is due yet"
	d.Until = latest(due, free, now.Add(time.Second))
	return d
}

func decideAttempt(f Facts, now time.Time, d Decision) Decision {
	if skipPage(now, &d) || skipSchemeless(now, &d) || skipExtraPort(f, &d) {
		return d
	}
	byRobots := decideRobots(f, now, &d)
	if byRobots == robotsRefused || byRobots == robotsDeferred {
		return d
	}
	if opens := windowsOpenAt(f, now); !opens.IsZero() {
		d.Action, d.Until, d.Reason, d.Explanation = Wait, opens, reasons.Window, explainWindows(f, now)
		return d
	}
	wait := f.Domain.SlotFree.Sub(now)
	defers := DefersDomain(*d.Run, wait, f.Domain.SlotReason)
	if byRobots == robotsUnknown && !defers {
		d.Action = FetchPrerequisite // it waits for the slot itself
		return d
	}
	if wait > 0 {
		d.Action, d.Until, d.Reason = Wait, f.Domain.SlotFree, f.Domain.SlotReason
		d.Explanation = "the domain may not be requested earlier"
		if defers {
			d.Action = DeferDomain
		}
		return d
	}
	d.Action, d.Reason, d.Explanation = Request, "", "the page is due"
	if f.Domain.Health.Probing {
		if url, target := probedPage(f, *d.Attempt); url != d.Attempt.URL {
			d.Action, d.URL, d.Target = Probe, url, target
			d.Explanation = "the domain was graylisted, so that " + url + " is requested first as a probe"
		}
	}
	return d
}

// probedPage returns the page that best tests the origin, and its request target: a page that has
// worked, else the front page, else the crawl's own. An image host often refuses its front page.
func probedPage(f Facts, c crawl.AttemptFacts) (url, target string) {
	switch {
	case c.LastReachableURL != "" && f.Ruling.LastReachableAllowed:
		return c.LastReachableURL, c.LastReachableTarget
	case f.Ruling.FrontPageAllowed && (!c.Kind.Image() || c.OriginHasPages):
		return c.Origin + "/", ""
	}
	return c.URL, c.Visit.RequestTarget
}

// DefersDomain reports whether a wait defers the domain: its workflow ends, and the dispatcher
// restarts it in time. Only a server's own request counts; the workflow sleeps through a
// Crawl-delay of any size.
func DefersDomain(run crawl.RunFacts, wait time.Duration, reason reasons.Reason) bool {
	return reason.Row().Defers && wait > time.Duration(*run.Settings.DeferAfter)
}

// skipPage closes a crawl whose page is still fresh, was fetched recently, or is in an endless
// space.
func skipPage(now time.Time, d *Decision) bool {
	c := d.Attempt
	visit := LastVisit(*d.Run, *c)
	minAge := minRefetch(*d.Run, *c)
	if due, cause := freshness.Due(visit, minAge); now.Before(due) {
		d.Until = due
		if cause == reasons.MinRefetch {
			return d.skipWith(cause, "it was fetched less than "+minAge.String()+" ago")
		}
		return d.skipWith(cause, "the last response is still fresh")
	}
	if a := c.FinalResponse; a != nil && !c.IsRevisit && freshness.IsFinalStatus(a.Status) {
		minAge := time.Duration(*d.Run.Settings.MinRefetch)
		if due := a.At.Add(minAge); now.Before(due) {
			d.Until = due
			return d.skipWith(reasons.MinRefetch, fmt.Sprintf("the server responded with %d less than %s ago", a.Status, minAge))
		}
	}
	if c.Kind.Image() {
		return skipImage(d)
	}
	// Seeds are an operator's decision, and other kinds than documents have bounds of their own.
	if c.Depth == 0 || !c.Kind.Document() {
		return false
	}
	if cause, reason := explainExclusion(d.Run.Settings, c.URL); reason != "" {
		return d.skipWith(reason, cause)
	}
	if hadNewContent(*c) {
		return false // earlier news stays
	}
	if trap, found := traps.FindPattern(c.Patterns); found {
		d.Trap = trap
		return d.skipWith(reasons.Trap, string(trap.Rule)+": "+trap.Evidence)
	}
	return false
}

// minRefetch returns the minimum age of a run's last fetch of this kind.
func minRefetch(run crawl.RunFacts, c crawl.AttemptFacts) time.Duration {
	switch {
	case lacksImages(run, c):
		return 0 // the run needs more than was fetched
	case c.IsRevisit:
		return 0 // scheduled by the page's changes
	}
	return time.Duration(*run.Settings.MinRefetch) / time.Duration(max(c.Kind.Traits().RefetchFactor, 1))
}

// skipWith closes the crawl without a request. It returns true.
func (d *Decision) skipWith(reason reasons.Reason, explanation string) bool {
	d.Action, d.Outcome, d.Reason, d.Explanation = Skip, crawl.OutcomeSkipped, reason, explanation
	return true
}
