package model_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/model"
)

const (
	// idleMost is after how many steps of workflows without a request nobody asks any more,
	// and drainMost how many there are in all, and drainSpan how long it takes.
	idleMost  = 80
	drainMost = 1500
	drainSpan = 200 * 24 * time.Hour
)

// drain has the workflows go on, and time pass, until nothing changes any more, or done says
// that it is enough.
func (b *bench) drain(most int, done func() bool) error {
	idle, asked, over := 0, b.asked, time.Duration(0)
	for range most {
		if done != nil && done() || len(b.wrong) > 0 {
			return nil
		}
		if ready := b.ready(); len(ready) > 0 {
			b.work(ready[idle%len(ready)])
			if idle++; b.asked > asked {
				idle, asked = 0, b.asked
			}
			if idle > idleMost {
				return nil
			}
			continue
		}
		if err := b.compared(); err != nil {
			return err
		}
		if len(b.ready()) > 0 {
			continue
		}
		next := b.nextTimer()
		if next == 0 || over > drainSpan {
			return nil
		}
		wait := time.Duration(max(next-b.now(), 0)) * time.Microsecond
		if over += wait; wait > overdueMost {
			if err := b.overdue(" for another " + wait.Round(time.Minute).String()); err != nil {
				return err
			}
		}
		if err := b.pass(b.ctx, wait+time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// calm reports whether no request is left except future revisits. All runs have then ended, except
// runs that wait when done, and no workflow serves a domain.
func (b *bench) calm() bool {
	if len(b.ready()) > 0 {
		return false
	}
	for _, r := range b.world.Runs {
		stands := r.Settings.WaitsWhenDone()
		if r.Status == crawl.RunRunning && !stands || len(r.Owed()) > 0 {
			return false
		}
	}
	for id := range b.temporal.flows {
		run := b.world.Runs[strings.TrimPrefix(id, "crawl/")]
		if run == nil || run.Status != crawl.RunRunning {
			return false
		}
	}
	return true
}

// nextTimer returns the next instant at which a timer wakes a workflow; 0 means never.
func (b *bench) nextTimer() (next model.Instant) {
	for _, f := range b.temporal.flows {
		if f.until != 0 && (next == 0 || f.until < next) {
			next = f.until
		}
	}
	return next
}

// settle removes every obstacle, and checks that all wanted pages are requested.
func (b *bench) settle() error {
	b.temporal.away, b.temporal.lose, b.temporal.refuse, b.twice, b.sites.dies = false, 0, 0, false, false
	b.network = nil
	clear(b.sites.answers)
	clear(b.sites.robots)
	b.trace("-- Temporal is back, the sites answer")
	steps := []func() error{
		func() error { return b.drain(drainMost/3, b.calm) },
		b.starved,
		func() error { b.trace("-- nothing forbids any more"); return b.liftAll() },
		func() error { return b.drain(drainMost, b.calm) },
		b.starved,
		b.goOn,
		func() error { return b.drain(drainMost, b.calm) },
		b.goOn,
		func() error { return b.drain(drainMost, b.calm) },
		b.recrawled,
		func() error { return b.drain(drainMost, b.calm) },
		b.finished,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := b.check(); err != nil || len(b.wrong) > 0 {
			return err
		}
	}
	return nil
}

// overdueMost is for how long something may be due without anybody looking.
const overdueMost = heartbeatTimeout + time.Minute

// overdue looks whether something is due while everybody waits.
func (b *bench) overdue(how string) error {
	rows, err := b.rows(b.ctx)
	b.world.Now = rows.Now
	for _, text := range b.world.Starved(rows) {
		b.fail(text + how)
	}
	return err
}

// starved looks for what is due and nobody asks for, once everybody waits for long.
func (b *bench) starved() error {
	asked, quiet := b.asked, time.Duration(0)
	for n := range drainMost / 3 {
		if b.asked > asked {
			asked, quiet = b.asked, 0
		}
		if ready := b.ready(); len(ready) > 0 {
			b.work(ready[n%len(ready)])
			continue
		}
		if err := b.compared(); err != nil {
			return err
		}
		wait := time.Duration(b.nextTimer()-b.now()) * time.Microsecond
		switch {
		case len(b.ready()) > 0:
		case b.nextTimer() == 0:
			return b.overdue("")
		case wait > overdueMost:
			return b.overdue(" for another " + wait.Round(time.Minute).String())
		case quiet > 2*overdueMost:
			return b.overdue(" for " + quiet.Round(time.Minute).String())
		default:
			quiet += wait
			if err := b.pass(b.ctx, max(wait, 0)+time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// openRobots has a robots.txt be read anew that wants visits at any time.
func (b *bench) openRobots(origin string) error {
	stored, err := b.store.Robots(b.ctx, origin)
	if err != nil {
		return err
	}
	stored.VisitTimes, stored.Rules = "", ""
	_, err = b.store.SaveRobots(b.ctx, stored)
	b.told(stored.Domain)
	return err
}

// liftAll revokes the decisions of operators one by one and changes nothing else, because each
// notified workflow checks everything again.
func (b *bench) liftAll() error {
	for _, name := range b.domains {
		d := b.world.Domain(name)
		for kind, end := range d.Controls {
			if end > b.now() {
				if err := b.lift(name, kind); err != nil {
					return err
				}
			}
		}
		if d.Closed {
			d.Closed = false
			if err := b.setDomain(name, crawl.ControlWindow, ""); err != nil {
				return err
			}
		}
		// the visit time of robots.txt no longer excludes the current hour
		for origin := range d.Shut {
			if err := b.openRobots(origin); err != nil {
				return err
			}
			delete(d.Shut, origin)
		}
		if d.Budget != nil {
			n := int64(-1)
			d.Budget = &n
			if err := b.setDomain(name, crawl.ControlBudget, n); err != nil {
				return err
			}
		}
	}
	for _, name := range b.runs {
		r := b.world.Runs[name]
		if _, stored := b.last.Runs[name]; !stored || r.Status == crawl.RunStopped {
			continue
		}
		if limits := limitsOf(r); len(limits) > 0 {
			if err := b.set(name, limits); err != nil {
				return err
			}
		}
		if r.Status == crawl.RunPaused {
			if err := b.apply("resume " + b.rename.Replace(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitsOf returns the settings that remove the limits of a run.
func limitsOf(r *model.Run) (pairs []string) {
	set := r.Settings
	for name, limit := range map[string]*int64{
		"max_pages": set.MaxPages, "max_pages_per_domain": set.MaxPagesPerDomain,
		"max_images_per_domain": set.MaxImagesPerDomain, "max_bytes": set.MaxBytes, "max_bytes_per_domain": set.MaxBytesPerDomain,
	} {
		if *limit >= 0 {
			pairs = append(pairs, name+"=-1")
		}
	}
	if *set.MaxTime > 0 {
		pairs = append(pairs, "max_time=0s")
	}
	if *set.Window != "" {
		pairs = append(pairs, "window=")
	}
	if usual := *(settings.Settings{}).WithDefaults().MaxDomains; *set.MaxDomains < usual {
		pairs = append(pairs, fmt.Sprint("max_active_domains=", usual))
	}
	if *set.YieldAfter > 0 {
		pairs = append(pairs, "yield_after=0")
	}
	return pairs
}

// goOn has people resume what has ended with something left that was put off, once its time
// has come.
func (b *bench) goOn() error {
	rows, err := b.rows(b.ctx)
	if err != nil {
		return err
	}
	wait := model.Instant(0)
	for _, work := range rows.Work {
		due := b.world.Due(rows, work)
		if due != model.Never && b.world.Runs[work.Run].Status == crawl.RunDone {
			wait = max(wait, due-rows.Now)
		}
	}
	if err := b.pass(b.ctx, time.Duration(wait)*time.Microsecond+time.Second); err != nil {
		return err
	}
	for _, name := range b.runs {
		r := b.world.Runs[name]
		if _, stored := b.last.Runs[name]; !stored || r.Status != crawl.RunDone || len(r.Owed()) == 0 {
			continue
		}
		if err := b.apply("resume " + b.rename.Replace(name)); err != nil {
			return err
		}
	}
	return nil
}

// recrawled looks whether runs that crawl their pages again will, and ends that.
func (b *bench) recrawled() error {
	rows, err := b.rows(b.ctx)
	if err != nil {
		return err
	}
	b.world.Now = rows.Now
	b.fail(b.world.Recrawlable(rows)...)
	for _, name := range b.runs {
		if r := b.world.Runs[name]; r != nil && b.last.Runs[name].Status != "" && r.Settings.WaitsWhenDone() && r.Status == crawl.RunRunning {
			if err := b.set(name, []string{"when_done=end"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// finished looks whether all is done, and nothing lives on.
func (b *bench) finished() error {
	for _, name := range b.runs {
		r := b.world.Runs[name]
		if _, stored := b.last.Runs[name]; !stored {
			continue
		}
		for _, owed := range r.Owed() {
			b.fail(fmt.Sprintf("run %s: %s", name, owed))
		}
		if r.Status == crawl.RunRunning {
			b.fail(fmt.Sprintf("run %s is running, and nothing will ever happen", name))
		}
	}
	for _, id := range b.temporal.ids() {
		b.fail(id + " lives on with nothing to do")
	}
	rows, err := b.rows(b.ctx)
	for name, d := range rows.Domains {
		if d.Claimed(rows.Now) {
			b.fail(name + " is still claimed")
		}
	}
	return err
}

// goesOn looks, when somebody has had a run go on, whether it does.
func (b *bench) goesOn(run string) {
	rows, err := b.rows(b.ctx)
	if err != nil {
		b.fail(err.Error())
	}
	r := b.world.Runs[run]
	b.world.Now = rows.Now
	if rows.Runs[run].Status != crawl.RunDone {
		return
	}
	if why := b.world.MayEnd(r, rows); strings.HasSuffix(why, " is due") {
		b.fail(fmt.Sprintf("run %s was to go on, and is done, though %s", run, why))
	}
}

// looked counts the looks of a dispatcher at a run that has nothing left.
func (b *bench) looked(run string) {
	if r := b.world.Runs[run]; r == nil || r.Settings.WaitsWhenDone() {
		return
	}
	rows, err := b.rows(b.ctx)
	if err != nil {
		b.fail(err.Error())
	}
	r := b.world.Runs[run]
	b.world.Now = rows.Now
	if b.network != nil && b.world.Unreachable(r, rows) {
		b.fail(fmt.Sprintf("run %s has only sites that cannot be reached, for ten minutes, and does not end", run))
	}
	if !b.world.MustEnd(r, rows) {
		b.over[run] = 0
		return
	}
	if b.over[run]++; b.over[run] == 1 {
		b.since[run] = b.asked
	}
	if b.over[run] > 3 && b.asked > b.since[run]+3 {
		b.fail(fmt.Sprintf("run %s has nothing left to do, and does not end", run))
	}
}

// idleServed is how often in a row a domain may be served without a request while it is due.
const idleServed = 6

// served looks whether a domain was served again and again for nothing.
func (b *bench) served(d *domainFlow) {
	if b.idle[d.name]++; b.idle[d.name] != idleServed {
		return
	}
	rows, err := b.rows(b.ctx)
	if err != nil {
		b.fail(err.Error())
	}
	b.world.Now = rows.Now
	for _, text := range b.world.Starved(rows) {
		if strings.HasPrefix(text, d.name+" ") {
			b.fail(fmt.Sprintf("%s, though it was served %d times without a request", text, b.idle[d.name]))
		}
	}
}
