package model

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// Instant is a time on the database's clock, in microseconds since the epoch.
type Instant int64

// Never is the instant that does not come.
const Never Instant = math.MaxInt64

// World is all that a crawl is about.
type World struct {
	Now     Instant
	Runs    map[string]*Run
	Domains map[string]*Domain
}

// Run is what is wanted of a run, and what it has done.
type Run struct {
	Name     string
	Status   crawl.RunStatus
	Settings crawl.Settings
	// Until is when its pause ends; Never is not by itself.
	Until Instant
	// Seeded are the domains that a person has named.
	Seeded map[string]bool
	Pages  map[string]*Page
	// Begun counts requests for pages by domain, and Images those for images.
	Begun, Images map[string]int64
	// Started is when it was first to go on; 0 is not yet.
	Started Instant
	// Recrawled says that a person has had it ask for its pages again.
	Recrawled bool
}

// Page is a URL that a run wants.
type Page struct {
	Domain string
	Image  bool
	// Bare says that it was seeded without a scheme.
	Bare  bool
	Depth int
	// Asked counts the requests that were begun for it and count: what was taken back does
	// not. Tried are those of the present visit.
	Asked, Tried int
	// Closed says that the visit has come to its end, by Outcome.
	Closed  bool
	Outcome Outcome
	// Skip is why it was closed without a request.
	Skip string
	// Good says that it was read when it was answered last, and found is what it named.
	Good  bool
	found []Found
	// Late says that it may not have a row yet.
	Late bool
	// Again says that the present visit is a further one.
	Again bool
}

// Outcome is what a visit has come to.
type Outcome int

// What a visit can come to.
const (
	// Open: it is still to be asked for.
	Open Outcome = iota
	// Answered: the site has said what there is, if only that there is nothing.
	Answered
	// GivenUp: the last attempt has failed.
	GivenUp
	// Skipped: closed without a request.
	Skipped
)

// Domain is what is known of a domain.
type Domain struct {
	// Controls are the ends of what people have decided, by kind; Never is no end.
	Controls map[crawl.ControlKind]Instant
	// Budget is the domain's own, nil is none, and Delay its own least delay, in microseconds.
	Budget *int64
	Delay  Instant
	// Closed says that its window is.
	Closed bool
	// Flying says that a request is in flight; Free is when the next may begin at the
	// earliest, as far as is certain.
	Flying bool
	Free   Instant
	// Gone is since when nothing of it could be reached; 0 is that it could.
	Gone Instant
	// Ruled says that its robots.txt was answered.
	Ruled bool
	// Read is when each page was last answered, by whichever run.
	Read map[string]Instant
}

// NewWorld has nothing in it.
func NewWorld() *World {
	return &World{Runs: map[string]*Run{}, Domains: map[string]*Domain{}}
}

// Domain returns a domain, known or not.
func (w *World) Domain(name string) *Domain {
	d := w.Domains[name]
	if d == nil {
		d = &Domain{Controls: map[crawl.ControlKind]Instant{}, Read: map[string]Instant{}}
		w.Domains[name] = d
	}
	return d
}

// Pass has time pass: every instant that is kept comes nearer by so much.
func (w *World) Pass(span Instant) {
	earlier := func(t *Instant) {
		if *t != Never && *t != 0 {
			*t -= span
		}
	}
	for _, r := range w.Runs {
		earlier(&r.Until)
		earlier(&r.Started)
	}
	for _, d := range w.Domains {
		earlier(&d.Free)
		earlier(&d.Gone)
		for kind, end := range d.Controls {
			earlier(&end)
			d.Controls[kind] = end
		}
		for url, at := range d.Read {
			earlier(&at)
			d.Read[url] = at
		}
	}
}

// Ensure makes a run, or changes its settings.
func (w *World) Ensure(name string, set crawl.Settings) *Run {
	r := w.Runs[name]
	if r == nil {
		r = &Run{
			Name: name, Status: crawl.RunRunning, Settings: set.WithDefaults(), Until: Never, Seeded: map[string]bool{},
			Pages: map[string]*Page{}, Begun: map[string]int64{}, Images: map[string]int64{},
		}
		w.Runs[name] = r
		return r
	}
	was := r.Settings
	r.Settings = overlay(r.Settings, set)
	if deeper(*r.Settings.MaxDepth) > deeper(*was.MaxDepth) || *r.Settings.Scope != *was.Scope && *r.Settings.Scope == crawl.ScopeWeb {
		r.widen()
	}
	return r
}

// deeper is a depth as a number that grows; -1 is no limit.
func deeper(depth int) int {
	if depth < 0 {
		return math.MaxInt
	}
	return depth
}

// widen makes part of a run what its pages have named, as far as its settings let it be by
// now. That is looked at beside the crawl: there may be much of it.
func (r *Run) widen() {
	for more := true; more; {
		known := len(r.Pages)
		for _, p := range r.Pages {
			if p.Good && !p.Image {
				r.follow(p, p.found, true)
			}
		}
		more = len(r.Pages) > known
	}
}

// Seed makes pages of a domain part of a run. It lifts a stop of the domain.
func (w *World) Seed(r *Run, domain, url string, bare bool) {
	r.Seeded[domain] = true
	delete(w.Domain(domain).Controls, crawl.ControlStop)
	r.want(url, &Page{Domain: domain, Bare: bare})
}

// want makes a page part of a run, once.
func (r *Run) want(url string, p *Page) {
	if r.Pages[url] == nil {
		r.Pages[url] = p
	}
}

// Found is what a page says of another.
type Found struct {
	URL, Domain string
	Image       bool
	// Moved says that the page is there now.
	Moved bool
}

// follow makes what a page has named part of its run, as far as the settings let it be.
func (r *Run) follow(from *Page, found []Found, late bool) {
	set := r.Settings
	for _, f := range found {
		depth := from.Depth + 1
		if f.Moved {
			depth = from.Depth
		}
		switch {
		case f.Moved && depth == 0 && !from.Image: // a seed takes its scope along
			r.Seeded[f.Domain] = true
			r.meant(f.URL)
			r.want(f.URL, &Page{Domain: f.Domain, Late: late})
		case from.Image && !f.Moved:
		case f.Image || from.Image:
			if set.TakesImages() && (*set.ImageScope == crawl.ImageScopeAny || r.Seeded[f.Domain]) {
				r.want(f.URL, &Page{Domain: f.Domain, Image: true, Depth: depth, Late: late})
			}
		case *set.MaxDepth >= 0 && depth > *set.MaxDepth:
		case *set.Scope == crawl.ScopeWeb || r.Seeded[f.Domain]:
			r.want(f.URL, &Page{Domain: f.Domain, Depth: depth, Late: late})
		}
	}
}

// meant has a page asked for after all that was passed over as not reached by https.
func (r *Run) meant(url string) {
	if p := r.Pages[url]; p != nil && p.Skip == string(crawl.ReasonScheme) {
		p.Revisit()
	}
}

// Revisit has a run ask for a page again of which nothing is pending.
func (p *Page) Revisit() {
	p.Closed, p.Outcome, p.Skip, p.Tried, p.Again = false, Open, "", 0, true
}

// Control stores a person's decision about a domain: the last of a kind holds.
func (w *World) Control(domain string, kind crawl.ControlKind, until Instant) {
	w.Domain(domain).Controls[kind] = until
}

// Forbids says what lets nothing be asked of a domain now: a block before a stop before a
// pause; empty is nothing.
func (d *Domain) Forbids(now Instant) crawl.ControlKind {
	for _, kind := range []crawl.ControlKind{crawl.ControlBlock, crawl.ControlStop, crawl.ControlPause} {
		if end, is := d.Controls[kind]; is && end > now {
			return kind
		}
	}
	return ""
}

// Change does to a run what a person says, and reports whether that can be done to it.
func (r *Run) Change(kind crawl.RunChangeKind, until Instant) bool {
	next, err := r.Status.Apply(kind)
	if err != nil {
		return false
	}
	r.Status, r.Until = next, Never
	if next == crawl.RunPaused {
		r.Until = until
	}
	return true
}

// Start has a run go on, whatever it was: a person's seeds do, and those of a schedule where
// no person has stopped it. One that is paused stays so.
func (w *World) Start(r *Run, schedule bool) {
	if r.Started == 0 {
		r.Started = w.Now
	}
	if r.Status == crawl.RunDone || r.Status == crawl.RunStopped && !schedule {
		r.Status = crawl.RunRunning
	}
}

// status is what the run is at an instant, if its dispatcher looks.
func (r *Run) status(now Instant) crawl.RunStatus {
	if r.Status == crawl.RunPaused && r.Until <= now {
		return crawl.RunRunning
	}
	return r.Status
}

// spent says which budget leaves no request of a kind to a domain; empty is none.
func (w *World) spent(r *Run, domain string, image bool) string {
	set := r.Settings
	over := func(begun, most int64) bool { return most >= 0 && begun >= most }
	if image {
		if over(r.Images[domain], *set.MaxImagesPerDomain) {
			return "max_images_per_domain"
		}
		return ""
	}
	var all int64
	for _, n := range r.Begun {
		all += n
	}
	most := *set.MaxPagesPerDomain
	if own := w.Domain(domain).Budget; own != nil {
		most = *own
	}
	switch {
	case over(all, *set.MaxPages):
		return "max_pages"
	case over(r.Begun[domain], most):
		return "max_pages_per_domain"
	}
	return ""
}

// Ask is a request that begins now for a page of a run; a prerequisite, such as robots.txt,
// has none. The errors are the promises that it breaks.
func (w *World) Ask(run, domain, url string, prerequisite, image bool) (broken []string) {
	deny := func(format string, args ...any) {
		broken = append(broken, fmt.Sprintf("asked for %s of run %s: ", url, run)+fmt.Sprintf(format, args...))
	}
	d, r := w.Domain(domain), w.Runs[run]
	if r == nil {
		return []string{"asked for " + url + " of a run that there is not: " + run}
	}
	if d.Flying {
		deny("another request to %s is in flight", domain)
	}
	if d.Free > w.Now {
		deny("%s is left alone for another %d ms", domain, (d.Free-w.Now)/1000)
	}
	if kind := d.Forbids(w.Now); kind != "" {
		deny("%s is under %s", domain, kind)
	}
	if d.Closed || *r.Settings.Window != "" {
		deny("the window is closed")
	}
	d.Flying = true
	if prerequisite {
		return broken
	}
	if r.Status = r.status(w.Now); r.Status != crawl.RunRunning {
		deny("the run is %s", r.Status)
	}
	if !d.Ruled {
		deny("robots.txt is not known")
	}
	if budget := w.spent(r, domain, image); budget != "" {
		deny("its %s is spent", budget)
	}
	p := r.Pages[url]
	if p != nil && p.Closed && (*r.Settings.Recrawl || r.Recrawled || p.Outcome == Skipped) {
		p.Revisit() // its time has come meanwhile, or the settings want it now
	}
	switch {
	case p == nil:
		deny("nobody wants it")
		p = &Page{Domain: domain, Image: image}
		r.Pages[url] = p
	case p.Closed:
		deny("its visit is over")
	case p.Tried >= *r.Settings.MaxAttempts:
		deny("it was tried %d times", p.Tried)
	}
	p.Asked++
	p.Tried++
	if image {
		r.Images[domain]++
	} else {
		r.Begun[domain]++
	}
	return broken
}

// Class is what an answer means.
type Class int

// The classes of answers.
const (
	// Final: there is no more to ask.
	Final Class = iota
	// Transient: it is to be tried again.
	Transient
	// TakenBack: trouble of our own, which counts for nothing.
	TakenBack
	// Dead: the worker died; it counts, and is tried again.
	Dead
)

// Reply is how a request ends.
type Reply struct {
	Class Class
	Found []Found
	// After is how long the server asks to be left alone; Penalty is what its failures so
	// far have earned it, where it has not said itself.
	After, Penalty Instant
	// Good says that the page was read, and Unreached that there was no sign of the site.
	Good, Unreached bool
}

// Answer is the end of a request.
func (w *World) Answer(run, domain, url string, prerequisite bool, reply Reply) {
	d, r := w.Domain(domain), w.Runs[run]
	d.Flying = false
	if !reply.Unreached {
		d.Gone = 0
	} else if d.Gone == 0 {
		d.Gone = w.Now
	}
	d.Free = w.Now + max(micros(*r.Settings.Delay), d.Delay, reply.After)
	if reply.Class == TakenBack {
		d.Free = max(d.Free, w.Now+reply.Penalty)
	}
	if prerequisite {
		d.Ruled = d.Ruled || reply.Good
		return
	}
	p := r.Pages[url]
	p.Good = reply.Good
	if reply.Good {
		d.Read[url] = w.Now
	}
	switch reply.Class {
	case Final:
		p.close(Answered)
		p.found = reply.Found
		r.follow(p, reply.Found, false)
	case Transient, Dead:
		if p.Tried >= *r.Settings.MaxAttempts {
			p.close(GivenUp)
		}
	case TakenBack:
		p.Asked--
		p.Tried--
		if p.Image {
			r.Images[domain]--
		} else {
			r.Begun[domain]--
		}
	}
}

func (p *Page) close(o Outcome) { p.Closed, p.Outcome = true, o }

// Skip is a page that was closed without a request, for a reason. It returns why that
// reason does not hold; empty where it does.
func (w *World) Skip(r *Run, url, reason string) string {
	p := r.Pages[url]
	if p == nil {
		return "nobody wants it"
	}
	if p.Closed {
		p.Revisit()
	}
	p.close(Skipped)
	p.Skip = reason
	set, least := r.Settings, Instant(0)
	switch crawl.Reason(reason) { //nolint:exhaustive // what this web gives no cause for
	case crawl.ReasonMinRefetch, crawl.ReasonFresh:
		least = micros(*set.MinRefetch)
		if read, is := w.Domain(p.Domain).Read[url]; is && !p.Again && w.Now < read+least {
			return ""
		}
		return fmt.Sprintf("again %t, and not read within %s", p.Again, set.MinRefetch)
	case crawl.ReasonDepthBudget:
		if *set.MaxPagesPerDepth >= 0 && p.Depth > 0 {
			return ""
		}
	case crawl.ReasonImageBudget:
		if w.spent(r, p.Domain, true) != "" {
			return ""
		}
	case crawl.ReasonScheme:
		// it was seeded without one, and cannot be reached by https
		if p.Bare {
			r.want(strings.Replace(url, "https:", "http:", 1), &Page{Domain: p.Domain})
			return ""
		}
	case crawl.ReasonImagesOff:
		if !set.TakesImages() {
			return ""
		}
	}
	return "there is no cause for it"
}

// Wants are the URLs of a run that are still to be asked for, sorted.
func (r *Run) Wants() (all []string) {
	for url, p := range r.Pages {
		if !p.Closed {
			all = append(all, url)
		}
	}
	slices.Sort(all)
	return all
}

func micros(d crawl.Duration) Instant { return Instant(d / 1000) }

// overlay is settings with those that are set of others.
func overlay(set, with crawl.Settings) crawl.Settings {
	into, from := reflect.ValueOf(&set).Elem(), reflect.ValueOf(with)
	for i := range into.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			into.Field(i).Set(f)
		}
	}
	return set
}
