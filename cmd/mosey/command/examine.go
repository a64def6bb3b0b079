package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/internal/explain"
)

// Examination says how checks are made and told.
type Examination struct {
	// JSON prints an array of findings, and Mend repairs what can be.
	JSON, Mend bool
	// Progress is a line that is cleared before a finding is printed; nil is none.
	Progress *ProgressLine
}

// Examine makes checks and prints what they find, as they find it. A fault is an error.
func Examine(ctx context.Context, e *Env, p *doctor.Patient, checks []doctor.Check, x Examination) error {
	var all []doctor.Finding
	part := doctor.Part("")
	err := doctor.Examine(ctx, p, checks, x.Mend, func(c doctor.Check, found []doctor.Finding) {
		x.clear()
		all = append(all, found...)
		if x.JSON {
			return
		}
		if c.Part != part {
			part = c.Part
			fmt.Fprintln(e.Stdout, strings.ToUpper(string(part)))
		}
		for _, f := range found {
			printFinding(e.Stdout, f, TerminalWidth(e.Stdout))
		}
	})
	x.clear()
	if err != nil {
		return fmt.Errorf("not all was looked at: %w", err)
	}
	faults, warnings := doctor.Faults(all)
	if x.JSON {
		if err := PrintJSON(e.Stdout, all); err != nil {
			return err
		}
	} else if faults == 0 {
		fmt.Fprintln(e.Stdout, sumUp(warnings))
	}
	if faults > 0 {
		return errors.New(explain.Count(int64(faults), "fault") + " and " + explain.Count(int64(warnings), "warning"))
	}
	return nil
}

func (x Examination) clear() {
	if x.Progress != nil {
		x.Progress.Clear()
	}
}

func sumUp(warnings int) string {
	if warnings == 0 {
		return "Nothing is wrong."
	}
	return "No fault, and " + explain.Count(int64(warnings), "warning") + "."
}

// The columns of a finding: how bad it is, which check found it, what.
const (
	SeverityWidth = 9
	CheckWidth    = 13
)

func printFinding(w io.Writer, f doctor.Finding, width int) {
	indent := SeverityWidth + CheckWidth
	lines := Wrap(fmt.Sprintf("%-*s%-*s%s", SeverityWidth, f.Severity, CheckWidth, f.Check, explain.OneLine(f.Found)), width, indent)
	for _, more := range []string{f.Remedy, f.Repaired} {
		if more != "" {
			arrow := strings.Repeat(" ", indent) + "> "
			lines = append(lines, Wrap(arrow+explain.OneLine(more), width, indent+2)...)
		}
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
