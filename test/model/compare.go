package model

import (
	"fmt"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Compare describes the differences between the rows and the model. It adopts decisions of the rows
// alone, such as why a page was skipped, if they are allowed.
func (w *World) Compare(rows Rows) (wrong []string) {
	for name, r := range w.Runs {
		wrong = append(wrong, w.compareRun(r, rows.Runs[name], rows)...)
	}
	seen := map[string]map[string]bool{}
	for _, p := range rows.Pages {
		if seen[p.Run] == nil {
			seen[p.Run] = map[string]bool{}
		}
		seen[p.Run][p.URL] = true
		if text := w.comparePage(p); text != "" {
			wrong = append(wrong, fmt.Sprintf("%s of run %s: %s", p.URL, p.Run, text))
		}
	}
	for name, r := range w.Runs {
		for url, p := range r.Pages {
			p.Late = p.Late && !seen[name][url]
			if !seen[name][url] && !p.Late {
				wrong = append(wrong, fmt.Sprintf("%s of run %s is wanted, and has no row", url, name))
			}
		}
	}
	for _, work := range rows.Work {
		r := w.Runs[work.Run]
		if work.Begun != r.Begun[work.Domain] || work.Images != r.Images[work.Domain] {
			wrong = append(wrong, fmt.Sprintf("run %s is charged %d pages and %d images of %s: want %d and %d",
				work.Run, work.Begun, work.Images, work.Domain, r.Begun[work.Domain], r.Images[work.Domain]))
		}
	}
	for name, d := range rows.Domains {
		for _, kind := range []crawl.ControlType{crawl.ControlStop, crawl.ControlBlock} {
			if w.Domain(name).Controls[kind] == Never && d.Status != "blocked" {
				wrong = append(wrong, fmt.Sprintf("%s is %s, though it is under %s", name, d.Status, kind))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// compareRun adopts the run's own status changes.
func (w *World) compareRun(r *Run, row RunRow, rows Rows) (wrong []string) {
	if row.Status == "" {
		return nil // the run is not stored yet
	}
	if most := micros(*r.Settings.MaxTime); row.Spent == "time" && (r.Started == 0 || w.Now < r.Started+most) && most > 0 {
		wrong = append(wrong, fmt.Sprintf("the time of run %s is over: it began %d ms ago", r.Name, (w.Now-r.Started)/1000))
	}
	was := r.Status
	r.Resumes = false
	if r.Status = row.Status; was != row.Status && was == crawl.RunPaused && r.Until <= w.Now {
		was = crawl.RunRunning
	}
	switch {
	case was == row.Status:
	case was == crawl.RunRunning && row.Status == crawl.RunDone:
		if why := w.MayEnd(r, rows); why != "" {
			wrong = append(wrong, fmt.Sprintf("run %s has ended, though %s", r.Name, why))
		}
	case was == crawl.RunDone && row.Status == crawl.RunRunning:
	default:
		wrong = append(wrong, fmt.Sprintf("run %s is %s: want %s", r.Name, row.Status, was))
	}
	return wrong
}

// comparePage compares a run's progress on a page.
func (w *World) comparePage(row PageRow) string {
	r := w.Runs[row.Run]
	p := r.Pages[row.URL]
	if p == nil {
		return "nobody wants it"
	}
	if row.Open > 1 {
		return fmt.Sprintf("%d rows are open", row.Open)
	}
	if row.Asked+row.Flying != p.Asked {
		return fmt.Sprintf("%d attempts are closed and %d in flight: want %d in all", row.Asked, row.Flying, p.Asked)
	}
	switch {
	case row.Open == 0 && !p.Closed:
		return "it is to be asked for, and is not pending"
	case row.Open == 1 && row.Flying == 0 && p.Closed && !p.again(r):
		return "it is pending, though its visit is over"
	}
	// a row records a visit, and each of its further attempts may too
	if row.Visits < p.Visits {
		return fmt.Sprintf("it was visited again %d times, and %d rows begin a further visit", p.Visits, row.Visits)
	}
	return ""
}

// Owed lists the pages that a run still has to request when nothing blocks it.
func (r *Run) Owed() (owed []string) {
	if r.Status == crawl.RunStopped {
		return nil
	}
	for url, p := range r.Pages {
		switch {
		case !p.Closed:
			owed = append(owed, url+" was never asked for")
		case p.Skip == string(reasons.ImageBudget):
			owed = append(owed, url+" is passed over for a "+p.Skip+" that there is no more")
		}
	}
	slices.Sort(owed)
	return owed
}
