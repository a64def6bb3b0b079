package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// spent names the budget that leaves no request of a kind to a domain; "" if all have some left.
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

// Ask begins a request for a page of a run, or for a prerequisite without a page, such as
// robots.txt. It returns the promises that the request breaks.
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
	if d.shut(w.Now) {
		deny("its robots.txt wants visits at another time")
	}
	d.Flying = true
	if prerequisite {
		return broken
	}
	if r.Status = r.status(w.Now); r.Status == crawl.RunDone && r.Resumes {
		r.Status = crawl.RunRunning
	}
	if r.Status != crawl.RunRunning {
		deny("the run is %s", r.Status)
	}
	if !d.Ruled {
		deny("robots.txt is not known")
	}
	if budget := w.spent(r, domain, image); budget != "" {
		deny("its %s is spent", budget)
	}
	p := r.Pages[url]
	if p != nil && p.Closed {
		p.again(r)
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

// Class classifies an answer.
type Class int

// The classes of answers.
const (
	// Final: the visit is complete.
	Final Class = iota
	// Transient: it will be retried.
	Transient
	// Undone: a failure on our side, which does not count.
	Undone
	// Dead: the worker died; the request counts, and will be retried.
	Dead
)

// Reply is the result of a request.
type Reply struct {
	Class Class
	Found []Found
	// After is the wait that the server requests. Penalty is the backoff for its failures if it
	// requests no wait.
	After, Penalty Instant
	// Good is set if the page was read, and Unreached if the site gave no sign of life.
	Good, Unreached bool
	// Shut is set if the fetched robots.txt wants visits at another time of the day.
	Shut bool
}

// visitTimeHolds bounds the validity of a Visit-time, in microseconds.
const visitTimeHolds = Instant(48 * time.Hour / time.Microsecond)

// shut reports whether a robots.txt of the domain wants visits at another time.
func (d *Domain) shut(now Instant) bool {
	for _, end := range d.Shut {
		if end > now {
			return true
		}
	}
	return false
}

// Answer ends a request.
func (w *World) Answer(run, domain, url string, prerequisite bool, reply Reply) {
	d, r := w.Domain(domain), w.Runs[run]
	d.Flying = false
	if !reply.Unreached {
		d.Gone = 0
	} else if d.Gone == 0 {
		d.Gone = w.Now
	}
	d.Free = w.Now + max(micros(*r.Settings.Delay), d.Delay, reply.After)
	if reply.Class == Undone {
		d.Free = max(d.Free, w.Now+reply.Penalty)
	}
	if prerequisite {
		d.Ruled = d.Ruled || reply.Good
		if origin := strings.TrimSuffix(url, "/robots.txt"); reply.Shut {
			d.Shut[origin] = w.Now + visitTimeHolds
		} else if reply.Good {
			delete(d.Shut, origin)
		}
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
	case Undone:
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

// Skip closes a page without a request, for a reason. It returns why the reason does not hold;
// empty if it does.
func (w *World) Skip(r *Run, url, reason string) string {
	p := r.Pages[url]
	if p == nil {
		return "nobody wants it"
	}
	if p.Closed {
		p.again(r)
	}
	p.close(Skipped)
	p.Skip = reason
	set := r.Settings
	switch reasons.Reason(reason) {
	case reasons.MinRefetch, reasons.Fresh:
		if read, is := w.Domain(p.Domain).Read[url]; is && !p.Again && w.Now < read+micros(*set.MinRefetch) {
			return ""
		}
		return fmt.Sprintf("again %t, and not read within %s", p.Again, set.MinRefetch)
	case reasons.ImageBudget:
		if w.spent(r, p.Domain, true) != "" {
			return ""
		}
	case reasons.Scheme:
		// it was seeded without a scheme, and cannot be reached by https
		if p.Bare {
			r.want(strings.Replace(url, "https:", "http:", 1), &Page{Domain: p.Domain})
			return ""
		}
	case reasons.ImagesOff:
		if !set.TakesImages() {
			return ""
		}
	}
	return "there is no cause for it"
}
