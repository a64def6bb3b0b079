package model

import (
	"fmt"

	"github.com/mosey-web/mosey/crawl"
)

// Rows are the stored rows of a crawl that the model covers.
type Rows struct {
	Now     Instant               `json:"now"`
	Runs    map[string]RunRow     `json:"runs"`
	Domains map[string]*DomainRow `json:"domains"`
	// Work is each run's part in each domain.
	Work []WorkRow `json:"work"`
	// Pages sum up the crawls of each page in each run.
	Pages []PageRow `json:"pages"`
}

// RunRow is a row of crawl_runs.
type RunRow struct {
	Status crawl.RunStatus `json:"status"`
	Until  Instant         `json:"until"`
	Spent  string          `json:"spent"`
}

// DomainRow is a row of domains, with its controls and its slot.
type DomainRow struct {
	Status string `json:"status"`
	// Deferred is next_crawl_after, Opens is opens_at, and Claim the end of the claim; 0 is null.
	Deferred Instant `json:"deferred"`
	Opens    Instant `json:"opens"`
	Claim    Instant `json:"claim"`
	// Forbidden are the ends of the pauses, stops and blocks in force; Never is no end.
	Forbidden []Instant `json:"forbidden"`
	Listed    bool      `json:"listed"`
	Free      Instant   `json:"free"`
	Held      bool      `json:"held"`
	// Health holds the domain's record of failures.
	Health crawl.Health `json:"health"`
}

// WorkRow is a row of run_domains, with its pending attempts.
type WorkRow struct {
	Run    string `json:"run"`
	Domain string `json:"domain"`
	// Due is next_due_at; 0 is null, Never infinity.
	Due    Instant `json:"due"`
	Begun  int64   `json:"begun"`
	Images int64   `json:"images"`
	Bytes  int64   `json:"bytes"`
	// NextPage and NextImage are the least scheduled_for of the crawls pending and not in flight:
	// of images, and of all others. 0 means no such attempt. Flying is set if a crawl is in flight.
	NextPage  Instant `json:"next_page"`
	NextImage Instant `json:"next_image"`
	Flying    bool    `json:"flying"`
}

// PageRow sums up the crawls of a page in a run.
type PageRow struct {
	Run    string `json:"run"`
	Domain string `json:"domain"`
	URL    string `json:"url"`
	// Asked counts the closed rows of requests that count, Undone those of the others. Open
	// counts the rows that are pending or in flight.
	Asked  int `json:"asked"`
	Undone int `json:"undone"`
	Open   int `json:"open"`
	Flying int `json:"flying"`
	// Last is why the last closed row was skipped. Visits counts the rows that begin a further
	// visit.
	Last   string `json:"last"`
	Visits int    `json:"visits"`
	// NextDue is the time of the next request by the run Recrawler; 0 means never.
	NextDue   Instant `json:"next_due"`
	Recrawler string  `json:"recrawler"`
}

// Due computes when a domain is due for a run, from primary rows alone. 0 means that the run has no
// pending attempts there, Never that somebody has to change something first. It ignores the budgets
// and the status of the whole run, because the dispatch checks them.
func (w *World) Due(rows Rows, work WorkRow) Instant {
	if work.NextPage == 0 && work.NextImage == 0 && !work.Flying {
		return 0
	}
	due, d, set := Never, rows.Domains[work.Domain], w.Runs[work.Run].Settings
	bytesSpent := *set.MaxBytesPerDomain >= 0 && work.Bytes >= *set.MaxBytesPerDomain
	most := *set.MaxPagesPerDomain
	if own := w.Domain(work.Domain).Budget; own != nil {
		most = *own
	}
	pagesSpent := most >= 0 && work.Begun >= most
	if work.NextPage != 0 && !bytesSpent && !pagesSpent {
		due = min(due, work.NextPage)
	}
	// images over their budget are skipped without a request
	if work.NextImage != 0 && !bytesSpent {
		due = min(due, work.NextImage)
	}
	if work.Flying {
		due = min(due, d.Free)
	}
	return max(due, d.notBefore(rows.Now))
}

// notBefore returns the instant before which no request to a domain is allowed.
func (d *DomainRow) notBefore(now Instant) (least Instant) {
	for _, end := range d.Forbidden {
		if end > now {
			least = max(least, end)
		}
	}
	if d.Listed {
		return Never
	}
	if d.Deferred == 0 && (d.Status == "blocked" || d.Status == "unreachable") {
		return Never
	}
	return max(least, d.Deferred, d.Opens)
}

// Claimed reports whether a workflow has the right to serve a domain.
func (d *DomainRow) Claimed(now Instant) bool { return d.Claim > now }

// MayEnd returns why a run, unless a standing one, must not be done now. It is empty if the run may
// end: no crawl of it is due, or none is allowed.
func (w *World) MayEnd(r *Run, rows Rows) (why string) {
	if w.wholeSpent(r, rows) {
		return ""
	}
	for _, work := range rows.Work {
		if work.Run != r.Name {
			continue
		}
		d := rows.Domains[work.Domain]
		switch due := w.Due(rows, work); {
		case due == 0 || due == Never:
		case d.Claimed(rows.Now):
			return work.Domain + " is being served, and has work for it"
		case due <= rows.Now:
			return work.Domain + " is due"
		}
	}
	return ""
}

// wholeSpent reports whether a budget of the whole run leaves no request for a page.
func (w *World) wholeSpent(r *Run, rows Rows) bool {
	all := int64(0)
	for _, n := range r.Begun {
		all += n
	}
	most := *r.Settings.MaxPages
	return rows.Runs[r.Name].Spent != "" || most >= 0 && all >= most
}

// MustEnd reports whether a run has no requests left until somebody changes something, so that its
// dispatcher has to end it. Work behind a pause keeps it running.
func (w *World) MustEnd(r *Run, rows Rows) bool {
	set := r.Settings
	if set.WaitsWhenDone() || r.Status != crawl.RunRunning {
		return false
	}
	spent := w.wholeSpent(r, rows)
	for _, work := range rows.Work {
		if work.Run != r.Name {
			continue
		}
		_, paused := w.Domain(work.Domain).Controls[crawl.ControlPause]
		switch due := w.Due(rows, work); {
		case work.Flying, paused && due != 0:
			return false
		case due == 0 || due == Never:
		case spent && (work.NextImage == 0 || rows.Runs[r.Name].Spent != ""):
		default:
			return false
		}
	}
	return true
}

// Starved lists the due and allowed domains that nobody requests.
func (w *World) Starved(rows Rows) (starved []string) {
	for _, work := range rows.Work {
		r, d := w.Runs[work.Run], rows.Domains[work.Domain]
		due := w.Due(rows, work)
		if r.status(rows.Now) != crawl.RunRunning || w.Domain(work.Domain).Closed || w.Domain(work.Domain).shut(rows.Now) || *r.Settings.Window != "" || due == 0 || due > rows.Now || d.Free > rows.Now {
			continue
		}
		if w.wholeSpent(r, rows) && (work.NextImage == 0 || rows.Runs[r.Name].Spent != "") {
			continue
		}
		starved = append(starved, fmt.Sprintf("%s is due for run %s, and nobody asks", work.Domain, work.Run))
	}
	return starved
}

// Unreachable reports whether all pending attempts of a run are on domains without a sign of life
// for ten minutes.
func (w *World) Unreachable(r *Run, rows Rows) bool {
	gone := 0
	for _, work := range rows.Work {
		if work.Run != r.Name || work.NextPage == 0 && work.NextImage == 0 {
			continue
		}
		if since := w.Domain(work.Domain).Gone; since == 0 || since > w.Now-600*second {
			return false
		}
		gone++
	}
	return gone > 0
}

const second Instant = 1_000_000

// CompareDue compares the computed and the stored due times of each domain for each run.
func (w *World) CompareDue(rows Rows) (wrong []string) {
	for _, work := range rows.Work {
		d := rows.Domains[work.Domain]
		want := w.Due(rows, work)
		if d.Claim != 0 { // also an expired claim, until somebody ends it
			want = 0
		}
		// all past due times are equal
		if want == work.Due || want != 0 && work.Due != 0 && max(want, work.Due) <= rows.Now {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s is due for run %s in %s: want %s", work.Domain, work.Run, in(work.Due, rows.Now), in(want, rows.Now)))
	}
	return wrong
}

// in formats an instant relative to now.
func in(t, now Instant) string {
	switch t {
	case 0:
		return "null"
	case Never:
		return "infinity"
	}
	return fmt.Sprintf("%d ms", (t-now)/1000)
}

// Recrawlable lists the pages that no run will request again, although their run recrawls.
func (w *World) Recrawlable(rows Rows) (lost []string) {
	for _, row := range rows.Pages {
		r := w.Runs[row.Run]
		p := r.Pages[row.URL]
		if !r.Settings.Recrawls() || r.Status != crawl.RunRunning || row.Open > 0 || p.Outcome != GivenUp && !p.Good {
			continue
		}
		if by := w.Runs[row.Recrawler]; row.NextDue == 0 || by == nil || by.Status != crawl.RunRunning || !by.Settings.Recrawls() {
			lost = append(lost, fmt.Sprintf("%s is never asked for again, though run %s crawls its pages again", row.URL, row.Run))
		}
	}
	return lost
}
