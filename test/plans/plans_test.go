package plans

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// TestPlans runs each statement on a database of a million pages, with statistics that are
// fresh, stale and absent, and judges each plan by the rows that it reads.
func TestPlans(t *testing.T) {
	var d *database
	if os.Getenv("PLANS_DEV") != "" {
		d = devDatabase(t)
	} else {
		d = newDatabase(t)
	}
	found := newFindings()
	for _, s := range statistics {
		t.Run(s.name, func(t *testing.T) {
			d.exec(t, s.sql)
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				d.runAll(t, mode, s.name == "Fresh" && mode == "force_custom_plan", func(e executed) { found.judge(s.name+" "+mode, e) })
			}
			found.report(t)
		})
	}
}

func (d *database) runAll(t *testing.T, mode string, whole bool, seen func(executed)) {
	s := d.open(t, mode, seen)
	for _, name := range caseNames(changing) {
		began := time.Now()
		t.Run(name, func(t *testing.T) { s.change(t, name, changing[name]) })
		if took := time.Since(began); took > time.Second {
			t.Logf("%s: %s", took.Round(time.Millisecond), name)
		}
	}
	for _, name := range caseNames(reading) {
		if !whole {
			break
		}
		s.during = name
		began := time.Now()
		t.Run(name, func(t *testing.T) { reading[name](t, s.store) })
		if took := time.Since(began); took > time.Second {
			t.Logf("%s: reading %s", took.Round(time.Millisecond), name)
		}
	}
}

type finding struct {
	statement
	worst        float64
	fault, where string
	text string
	n int
}

type findings struct {
	all map[statement]*finding
}

func newFindings() *findings { return &findings{map[statement]*finding{}} }

func (f *findings) judge(where string, e executed) {
	worst, fault := judge(&e.plan)
	x := f.all[e.statement]
	if x == nil {
		x = &finding{statement: e.statement, text: e.text}
		f.all[e.statement] = x
	}
	if worst > 0 { x.n++ }
	if worst > x.worst {
		x.worst, x.fault, x.where = worst, fault, where+" "+e.during
	}
}

func (f *findings) report(t *testing.T) {
	var lines []string
	for _, x := range f.all {
		if x.fault != "" {
			lines = append(lines, fmt.Sprintf("%s: %.0f (%d, %s): %s", x.statement, x.worst, x.n, x.where, x.fault))
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		t.Log(l)
	}
	t.Log(len(f.all))
}
