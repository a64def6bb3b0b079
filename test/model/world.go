package model

import (
	"math"
	"reflect"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
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
	Settings settings.Settings
	// Until is when its pause ends; Never is not by itself.
	Until Instant
	// Seeded are the domains that a person has named.
	Seeded map[string]bool
	Pages  map[string]*Page
	// Begun counts requests for pages by domain, and Images those for images.
	Begun, Images map[string]int64
	// Started is when it was first to go on; 0 is not yet.
	Started Instant
	// Recrawled is set if a person has had it ask for its pages again.
	Recrawled bool
	// Resumes is set if a person has just added pages: a run that is done goes on with them at once.
	Resumes bool
}

// Page is a URL that a run wants.
type Page struct {
	Domain string
	Image  bool
	// Bare is set if it was seeded without a scheme.
	Bare  bool
	Depth int
	// Asked counts the requests that were begun for it and count: what was taken back does
	// not. Tried are those of the present visit.
	Asked, Tried int
	// Closed is set if the visit has come to its end, by Outcome.
	Closed  bool
	Outcome Outcome
	// Skip is why it was closed without a request.
	Skip string
	// Good is set if it was read when it was answered last, and found is what it named.
	Good  bool
	found []Found
	// Late is set if it may not have a row yet.
	Late bool
	// Again is set if the present visit is a further one, and Visits counts those.
	Again  bool
	Visits int
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
	Controls map[crawl.ControlType]Instant
	// Budget is the domain's own, nil means none, and Delay its own least delay, in microseconds.
	Budget *int64
	Delay  Instant
	// Closed is set if its window is.
	Closed bool
	// Flying is set if a request is in flight; Free is when the next may begin at the
	// earliest, as far as is certain.
	Flying bool
	Free   Instant
	// Gone is since when nothing of it could be reached; 0 is that it could.
	Gone Instant
	// Ruled is set if its robots.txt was answered.
	Ruled bool
	// Shut is of each origin whose robots.txt wants visits at another time of the day (Visit-time)
	// until when that counts: two days after it was read.
	Shut map[string]Instant
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
		d = &Domain{Controls: map[crawl.ControlType]Instant{}, Read: map[string]Instant{}, Shut: map[string]Instant{}}
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

// Seed makes pages of a domain part of a run. It lifts a stop of the domain.
func (w *World) Seed(r *Run, domain, url string, bare bool) {
	r.Seeded[domain], r.Resumes = true, true
	delete(w.Domain(domain).Controls, crawl.ControlStop)
	r.want(url, &Page{Domain: domain, Bare: bare})
}

// Control stores a person's decision about a domain: the last of a kind holds.
func (w *World) Control(domain string, kind crawl.ControlType, until Instant) {
	w.Domain(domain).Controls[kind] = until
}

// Forbids says what lets nothing be asked of a domain now: a block before a stop before a
// pause; empty means nothing.
func (d *Domain) Forbids(now Instant) crawl.ControlType {
	for _, kind := range []crawl.ControlType{crawl.ControlBlock, crawl.ControlStop, crawl.ControlPause} {
		if end, is := d.Controls[kind]; is && end > now {
			return kind
		}
	}
	return ""
}

// Change does to a run what a person says, and reports whether that can be done to it.
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

func micros(d settings.Duration) Instant { return Instant(d / 1000) }

// overlay is settings with those that are set of others.
func overlay(set, with settings.Settings) settings.Settings {
	into, from := reflect.ValueOf(&set).Elem(), reflect.ValueOf(with)
	for i := range into.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			into.Field(i).Set(f)
		}
	}
	return set
}
