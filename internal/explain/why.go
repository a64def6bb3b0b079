package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/ruling"
)

// Store reads the facts of an explanation.
type Store interface {
	ruling.Store
	PageStore

	Domain(ctx context.Context, domain string) (report.Domain, error)
	// Page returns crawl.ErrNotFound for an unknown page.
	Page(ctx context.Context, domain, url string) (report.Page, error)
	Facts(ctx context.Context, domain string) (crawl.Facts, error)
	PageFacts(ctx context.Context, domain, url string) (crawl.Facts, error)
	Outages(ctx context.Context) ([]crawl.Outage, error)
	FleetUse(ctx context.Context) (report.FleetUse, error)
	// KnownPages counts linked pages of a domain, up to report.FrontierBound, and returns one URL.
	KnownPages(ctx context.Context, domain string) (n int64, url string, err error)
}

// Why is the explanation: one sentence a line, the answer first.
type Why struct {
	About   string   `json:"subject"`
	Answer  string   `json:"answer"`
	Because []string `json:"reasons"`
	// Domain and Page are the explained rows, or nil if they are not stored.
	Domain *report.Domain `json:"-"`
	Page   *report.Page   `json:"-"`

	zone *time.Location // zone of the times
	// hasWorker is set while a worker runs.
	hasWorker bool
}

func (w *Why) addf(format string, args ...any) {
	w.Because = append(w.Because, OneLine(fmt.Sprintf(format, args...)))
}

// PageStore finds stored pages.
type PageStore interface {
	HasPage(ctx context.Context, domain, url string) (bool, error)
}

// FindPage returns the page that an operator named. A name without a scheme means https, or http if
// only that page is stored.
func FindPage(ctx context.Context, store PageStore, name urls.Name) (urls.URL, error) {
	if !name.Schemeless {
		return name.Page, nil
	}
	plain, err := name.Page.WithHTTP()
	if err != nil {
		return name.Page, err
	}
	for _, u := range []urls.URL{name.Page, plain} {
		if has, err := store.HasPage(ctx, u.Domain(), u.String()); has || err != nil {
			return u, err
		}
	}
	return name.Page, nil
}

// Of explains a domain, or a page of it if page is not nil. Times are in zone.
func Of(ctx context.Context, store Store, name string, page *urls.URL, zone *time.Location) (Why, error) {
	w := Why{About: name, zone: zone}
	if page != nil {
		w.About = page.String()
	}
	dom, err := store.Domain(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		return explainLinked(ctx, store, name, page, zone)
	}
	if err != nil {
		return w, err
	}
	w.Domain = &dom
	reader, err := ruling.New(store)
	outages, err2 := store.Outages(ctx)
	use, err3 := store.FleetUse(ctx)
	if err := errors.Join(err, err2, err3); err != nil {
		return w, err
	}
	for _, o := range outages {
		w.addf("the network %s", Outage(o, zone))
	}
	w.hasWorker = use.Running > 0
	if !w.hasWorker && dom.Pending > 0 {
		w.addf("%s", NoWorker(use.SeenAt, w.zone))
	}
	if use.Full() && dom.Claimed != "" {
		w.addf("%s", Limited(use))
	}
	if page == nil {
		err = explainDomain(ctx, store, reader, &w)
	} else {
		err = explainPage(ctx, store, reader, &w, *page)
	}
	explainState(&w, dom)
	return w, err
}

// explainDomain repeats the decision of the activity that fetches the domain's pages.
func explainDomain(ctx context.Context, store Store, reader *ruling.Reader, w *Why) error {
	dom := w.Domain
	facts, err := store.Facts(ctx, dom.Domain)
	if err != nil {
		return err
	}
	var c *crawl.AttemptFacts
	if run := decide.Pick(facts, facts.Now); run != nil {
		c = run.Attempt
	}
	full, err := reader.Facts(ctx, facts, c)
	if err != nil {
		return err
	}
	d := decide.Decide(full, facts.Now)
	w.Answer = w.answer(d, facts.Now)
	if d.Action == decide.Finish && d.Reason == reasons.Scheduled && d.Until.IsZero() {
		w.Answer = "complete: no running run has a page of the domain left to request"
	}
	if d.Action == decide.Request && dom.Claimed == "" {
		w.Answer = "due: the run requests it within seconds"
		if !w.hasWorker {
			w.Answer = "due: the run requests it as soon as a worker runs"
		}
	}
	if d.Attempt != nil {
		w.addf("next page: %s, in run %s", d.Attempt.URL, d.Run.Name)
	}
	for _, r := range facts.Runs {
		if r.WaitReason != "" && (d.Run == nil || r.ID != d.Run.ID) {
			w.addf("run %s does not request the domain%s: %s", r.Name, Until(r.Due, w.zone), NotDueReason(r.WaitReason))
		}
	}
	if len(dom.Robots) == 0 {
		w.addf("robots.txt has not been fetched yet; Mosey requests it before any page")
	}
	for _, r := range dom.Robots {
		w.addf("%s", Robots(r, w.zone))
	}
	return nil
}

func explainPage(ctx context.Context, store Store, reader *ruling.Reader, w *Why, u urls.URL) error {
	facts, err := store.PageFacts(ctx, u.Domain(), u.String())
	if err != nil {
		return err
	}
	rep, err := store.Page(ctx, u.Domain(), u.String())
	if errors.Is(err, crawl.ErrNotFound) {
		w.explainUnwanted(facts, UnknownPage)
		return nil
	}
	if err != nil {
		return err
	}
	w.Page = &rep
	if err := decidePage(ctx, reader, w, facts, rep); err != nil {
		return err
	}
	fetched := false
	for _, r := range w.Domain.Robots {
		if r.Origin == u.Origin() {
			fetched = true
			w.addf("%s", Robots(r, w.zone))
		}
	}
	if !fetched {
		w.addf("%s/robots.txt has not been fetched yet; Mosey requests it before any page", u.Origin())
	}
	explainHistory(w, rep)
	return nil
}

// decidePage explains the run that requests the page first, else the last attempt, else a run that
// must be resumed. An operator's decision about the domain applies to all runs.
func decidePage(ctx context.Context, reader *ruling.Reader, w *Why, facts crawl.Facts, rep report.Page) error {
	next, err := nextDecision(ctx, reader, w, facts)
	if err != nil {
		return err
	}
	last := lastAttempt(rep.Crawls)
	forbidden, isForbidden := forbiddingControl(facts)
	unwanted := ""
	switch {
	case next != nil:
	case rep.Trap.Rule != "" && rep.FetchedAt.IsZero():
		unwanted = "not crawled: the page is probably part of a crawler trap"
	case last == nil:
		unwanted = unwantedReason(rep)
	}
	switch {
	case next != nil && next.Reason == reasons.InFlight,
		next != nil && !isForbidden && (last == nil || rankOf(*next) < rankNever):
		w.Answer = w.answer(*next, facts.Now)
	case unwanted != "":
		w.explainUnwanted(facts, unwanted)
	case isForbidden:
		w.Answer = w.answer(forbidden, facts.Now)
	default:
		at := StampIn(last.CompletedAt, w.zone)
		w.Answer = fmt.Sprintf("done in run %s: %s on %s", last.Run, Attempt(*last), at)
	}
	return nil
}

// nextDecision decides about a page for each run that has it open, and returns the first decision
// to take effect. It returns nil if no run has the page open.
func nextDecision(
	ctx context.Context, reader *ruling.Reader, w *Why, facts crawl.Facts,
) (next *decide.Decision, err error) {
	explained := false
	for _, run := range facts.Runs {
		if run.Attempt == nil {
			continue
		}
		one := facts
		one.Runs = []crawl.RunFacts{run}
		full, err := reader.Facts(ctx, one, run.Attempt)
		if err != nil {
			return nil, err
		}
		if r := full.Ruling; r != nil && !explained {
			explained = true // the runs read the same robots.txt
			w.addf("%s", Ruling(*r))
		}
		d := decide.Attempt(full, facts.Now)
		if d.Action == decide.Done {
			continue
		}
		if next == nil || cmp.Or(cmp.Compare(rankOf(d), rankOf(*next)), d.Until.Compare(next.Until)) < 0 {
			next = &d
		}
	}
	return next, nil
}

// rankNever is the rank of a decision that never leads to a request, such as for a stopped run.
const rankNever = 4

// rankOf orders decisions about one page: the first to take effect has the lowest rank.
func rankOf(d decide.Decision) int {
	switch d.Action {
	case decide.Request, decide.FetchPrerequisite, decide.Probe:
		return 0
	case decide.Wait, decide.DeferOrigin, decide.DeferDomain:
		return 1
	case decide.Skip, decide.Refuse:
		return 2
	case decide.Finish, decide.Done:
	}
	if d.Until.IsZero() {
		return rankNever
	}
	return rankNever - 1
}

// lastAttempt returns the attempt that ended last, or nil. It ignores skips of a fresh page if
// there are other attempts.
func lastAttempt(crawls []report.Attempt) (last *report.Attempt) {
	fresh := func(c report.Attempt) bool { return c.Skipped == reasons.Fresh || c.Skipped == reasons.MinRefetch }
	for i, c := range crawls {
		switch {
		case c.Outcome == "":
		case last == nil, fresh(*last) && !fresh(c), fresh(*last) == fresh(c) && c.CompletedAt.After(last.CompletedAt):
			last = &crawls[i]
		}
	}
	return last
}

// forbiddingControl returns the operator's decision that forbids requests to the domain, if there
// is one.
func forbiddingControl(facts crawl.Facts) (d decide.Decision, found bool) {
	if _, found = facts.Domain.Controls.FirstForbidding(facts.Now); found {
		facts.Runs = nil
		d = decide.Decide(decide.Facts{Facts: facts}, facts.Now)
	}
	return d, found
}

// explainUnwanted explains why no run has a page or a domain. An operator's decision about the
// domain comes first: it applies even if the page is seeded.
func (w *Why) explainUnwanted(facts crawl.Facts, reason string) {
	w.Answer = reason
	if d, is := forbiddingControl(facts); is {
		w.Answer = w.answer(d, facts.Now) + "; " + reason
	}
}

func (w *Why) answer(d decide.Decision, now time.Time) string {
	until := ""
	if !d.Until.IsZero() {
		until = fmt.Sprintf(" until %s, in %s", StampIn(d.Until, w.zone), d.Until.Sub(now).Round(100*time.Millisecond))
	}
	switch d.Action {
	case decide.Request:
		return "pending: the run will request the page"
	case decide.FetchPrerequisite, decide.Probe:
		return "pending: " + d.Explanation
	case decide.Skip:
		return "pending, but it will be skipped: " + d.Explanation
	case decide.Refuse:
		return "pending, but its publisher forbids it: " + d.Explanation
	case decide.DeferOrigin:
		return "pending, but deferred" + until + ": " + d.Explanation
	case decide.DeferDomain:
		return "not crawled" + until + ": the domain is deferred (" + string(d.Reason) + ")"
	case decide.Wait, decide.Finish, decide.Done:
	}
	wait := d.Action == decide.Wait
	switch {
	case wait && d.Reason == reasons.InFlight && !w.hasWorker:
		return "pending: the worker ended during a request to the domain"
	case wait && d.Reason == reasons.InFlight && d.Attempt != nil && d.Attempt.LockedAt.IsZero():
		return "pending: another request to the domain is in flight"
	case wait && d.Reason == reasons.InFlight:
		return "in flight: " + d.Explanation
	case wait && d.Until.IsZero(), !wait && d.Reason == reasons.Scheduled:
		return "waiting" + until + ": " + d.Explanation
	case wait, d.Reason == reasons.Window:
		return fmt.Sprintf("waiting%s: %s (%s)", until, d.Explanation, d.Reason)
	}
	return "not crawled" + until + ": " + d.Explanation
}

// Ruling describes robots.txt's decision about a page, and the line that decides.
func Ruling(r decide.Ruling) string {
	switch {
	case r.Rule == "" && r.Allowed:
		return "robots.txt allows it: no line matches"
	case r.Allowed:
		return fmt.Sprintf("robots.txt allows it by line %d: %s", r.Line, r.Rule)
	default:
		return fmt.Sprintf("robots.txt forbids it by line %d: %s", r.Line, r.Rule)
	}
}

// Robots describes the state of a robots.txt, and how long it applies.
func Robots(r report.Robots, zone *time.Location) string {
	line := fmt.Sprintf("robots.txt of %s: %s", r.Origin, r.Verdict)
	if r.CrawlDelay != nil {
		line += ", crawl-delay " + r.CrawlDelay.String()
	}
	if r.VisitTimes != "" {
		line += ", " + windowLine("visits only", r.VisitTimes, zone)
	}
	if r.Reason != "" {
		line += " (" + r.Reason + ")"
	}
	if time.Until(r.ExpiresAt) <= 0 {
		return line + "; expired on " + StampIn(r.ExpiresAt, zone) + "; it is fetched again before the next page"
	}
	if r.Verdict == crawl.RobotsUnreachable {
		return line + "; it is requested again from " + StampIn(r.ExpiresAt, zone) + " on"
	}
	return line + "; valid until " + StampIn(r.ExpiresAt, zone)
}
