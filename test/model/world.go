package model

import (
	"math"
	"reflect"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Instant is a time on the database's clock, in microseconds since the epoch.
type Instant int64

// Never is an instant that does not come.
const Never Instant = math.MaxInt64

// World is the state of a crawl.
type World struct {
	Now     Instant
	Runs    map[string]*Run
	Domains map[string]*Domain
}

// Run holds the settings of a run, and its progress.
type Run struct {
	Name     string
	Status   crawl.RunStatus
	Settings settings.Settings
	// Until is the end of its pause; Never means no automatic end.
	Until Instant
	// Seeded are the domains that a person has named.
	Seeded map[string]bool
	Pages  map[string]*Page
	// Begun counts requests for pages by domain, and Images those for images.
	Begun, Images map[string]int64
	// Started is the time of its first start; 0 means not yet.
	Started Instant
	// Recrawled is set if a person has requested a recrawl of its pages.
	Recrawled bool
	// Resumes is set if a person has just added pages, so that a finished run resumes at once.
	Resumes bool
}

// Page is a URL that a run wants.
type Page struct {
	Domain string
	Image  bool
	// Bare is set if it was seeded without a scheme.
	Bare  bool
	Depth int
	// Asked counts the begun requests for it, without those taken back. Tried counts those of the
	// present visit.
	Asked, Tried int
	// Closed is set if the visit has ended, by Outcome.
	Closed  bool
	Outcome Outcome
	// Skip is why it was closed without a request.
	Skip string
	// Good is set if the last answer was read, and found holds its references.
	Good  bool
	found []Found
	// Late is set if it may not have a row yet.
	Late bool
	// Again is set if the present visit is a further one, and Visits counts those.
	Again  bool
	Visits int
}

// Outcome is the result of a visit.
type Outcome int

// The outcomes of a visit.
const (
	// Open: the page is still to be requested.
	Open Outcome = iota
	// Answered: the site has answered, even if only that the page does not exist.
	Answered
	// GivenUp: the last attempt has failed.
	GivenUp
	// Skipped: closed without a request.
	Skipped
)

// Domain is the state of a domain.
type Domain struct {
	// Controls are the ends of people's decisions, by kind; Never is no end.
	Controls map[crawl.ControlType]Instant
	// Budget is the domain's own; nil means unset. Delay is its own least delay, in microseconds.
	Budget *int64
	Delay  Instant
	// Closed is set if its window is closed.
	Closed bool
	// Flying is set if a request is in flight. Free is the earliest certain start of the next
	// request.
	Flying bool
	Free   Instant
	// Gone is the time since when the domain could not be reached; 0 means reachable.
	Gone Instant
	// Ruled is set if its robots.txt was answered.
	Ruled bool
	// Shut holds, for each origin whose robots.txt wants visits at another time of the day
	// (Visit-time), the end of its validity: two days after it was read.
	Shut map[string]Instant
	// Read is the time of each page's last answer, in any run.
	Read map[string]Instant
}

// NewWorld returns an empty world.
func NewWorld() *World {
	return &World{Runs: map[string]*Run{}, Domains: map[string]*Domain{}}
}

// Domain returns a domain, and adds it if it is unknown.
func (w *World) Domain(name string) *Domain {
	d := w.Domains[name]
	if d == nil {
		d = &Domain{Controls: map[crawl.ControlType]Instant{}, Read: map[string]Instant{}, Shut: map[string]Instant{}}
		w.Domains[name] = d
	}
	return d
}

// Pass advances the time by a span: it moves every stored instant back.
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
		for origin, end := range d.Shut {
			earlier(&end)
			d.Shut[origin] = end
		}
	}
}

// Ensure makes a run, or changes its settings.
func (w *World) Ensure(name string, set settings.Settings) *Run {
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
	if deeper(*r.Settings.MaxDepth) > deeper(*was.MaxDepth) || *r.Settings.Scope != *was.Scope && *r.Settings.Scope == settings.ScopeWeb {
		r.widen()
	}
	return r
}

// Seed adds pages of a domain to a run. It lifts a stop of the domain.
func (w *World) Seed(r *Run, domain, url string, bare bool) {
	r.Seeded[domain], r.Resumes = true, true
	delete(w.Domain(domain).Controls, crawl.ControlStop)
	r.want(url, &Page{Domain: domain, Bare: bare})
}

// Control stores a person's decision about a domain: the last of a kind holds.
func (w *World) Control(domain string, kind crawl.ControlType, until Instant) {
	w.Domain(domain).Controls[kind] = until
}

// Forbids returns the control that forbids requests to a domain now: a block before a stop before a
// pause; empty means that requests are allowed.
func (d *Domain) Forbids(now Instant) crawl.ControlType {
	for _, kind := range []crawl.ControlType{crawl.ControlBlock, crawl.ControlStop, crawl.ControlPause} {
		if end, is := d.Controls[kind]; is && end > now {
			return kind
		}
	}
	return ""
}

// Change applies a person's action to a run, and reports whether the run allows it.
func (r *Run) Change(kind crawl.RunAction, until Instant) bool {
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

// Start resumes a run in any state. A person's seeds do so, and a schedule's unless a person has
// stopped the run. A paused run stays paused.
func (w *World) Start(r *Run, schedule bool) {
	if r.Started == 0 {
		r.Started = w.Now
	}
	if r.Status == crawl.RunDone || r.Status == crawl.RunStopped && !schedule {
		r.Status = crawl.RunRunning
	}
}

// status returns the run's status at an instant, as its dispatcher would update it.
func (r *Run) status(now Instant) crawl.RunStatus {
	if r.Status == crawl.RunPaused && r.Until <= now {
		return crawl.RunRunning
	}
	return r.Status
}

func micros(d settings.Duration) Instant { return Instant(d / 1000) }

// overlay replaces settings by the set fields of others.
func overlay(set, with settings.Settings) settings.Settings {
	into, from := reflect.ValueOf(&set).Elem(), reflect.ValueOf(with)
	for i := range into.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			into.Field(i).Set(f)
		}
	}
	return set
}
