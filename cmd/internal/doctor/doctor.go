// Package doctor checks the machine, the database, Temporal and the data for mistakes of users, and
// returns remedies. All declares the checks. They are independent: a check that fails reports the
// reason, and the others continue.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
)

// Severity grades a finding.
type Severity string

// The severities, from the least.
const (
	OK      Severity = "ok"
	Skipped Severity = "skipped" // the check could not run
	Note    Severity = "note"    // no fault, but good to know
	Warning Severity = "warning" // it works for now
	Fault   Severity = "fault"   // it is wrong
)

// Finding is a result of a check.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Found    string   `json:"found"`
	// Remedy is a sentence with the command or the setting that helps.
	Remedy string `json:"remedy,omitempty"`
	// Repaired describes the repair.
	Repaired string `json:"repaired,omitempty"`
}

// Part is the subject of a check.
type Part string

// The parts, in the order of the checks.
const (
	Machine  Part = "machine"
	Network  Part = "network"
	Database Part = "database"
	Temporal Part = "temporal"
	// Identity checks the published identity of the crawler, if flags declare it.
	Identity Part = "identity"
	// Data checks read many rows, and need --check.
	Data Part = "data"
)

// Check is one check of a part.
type Check struct {
	Name string
	Part Part
	// About describes the check in the documentation and in --help.
	About string

	run func(context.Context, *Target) ([]Finding, error)
	// repair fixes the findings and returns a description; nil means that only an operator can.
	repair func(context.Context, *Target) (string, error)
}

// Repairs reports whether the check can repair its findings.
func (c Check) Repairs() bool { return c.repair != nil }

// Port is the default port of an embedded server.
type Port struct {
	Number int
	For    string
}

// Target is the subject of the checks.
type Target struct {
	Environ wiring.Env
	// DataDir is the data directory; empty if the environment names both servers.
	DataDir string
	// Ports are the ports of the embedded servers.
	Ports []Port
	Fetch wiring.FetchFlags
	// Identity holds the flags of the published identity.
	Identity wiring.IdentityFlags

	// Store is the database, or NoStore the reason for its absence; likewise for Temporal.
	// DatabaseURL opens it with the rights of the user.
	Store       *db.Store
	NoStore     error
	DatabaseURL string
	Client      *wiring.Client
	NoTemporal  error

	// Progress receives the progress of a long check.
	Progress func(string)

	// page is the page about the crawler, once fetched.
	page *pageResponse
}

// ErrAbsent reports a harmless absence: nothing was crawled yet, or Mosey is not running.
var ErrAbsent = errors.New("absent")

type absentError string

func (e absentError) Error() string   { return string(e) }
func (absentError) Is(err error) bool { return err == ErrAbsent }

// Absent returns an ErrAbsent with a reason.
func Absent(reason string) error { return absentError(reason) }

// checkTimeout bounds a check, except data checks, which are bounded by steps.
const checkTimeout = 10 * time.Second

// All returns the checks in their order.
func All() []Check {
	return slices.Concat(machineChecks(), networkChecks(), identityChecks(), databaseChecks(), temporalChecks(), dataChecks())
}

func setPart(part Part, checks []Check) []Check {
	for i := range checks {
		checks[i].Part = part
	}
	return checks
}

// checkWith returns the function of a check of a value, which is skipped without that value.
func checkWith[T any](
	get func(*Target, context.Context) (T, error), run func(context.Context, T) ([]Finding, error),
) func(context.Context, *Target) ([]Finding, error) {
	return func(ctx context.Context, p *Target) ([]Finding, error) {
		x, err := get(p, ctx)
		if err != nil {
			return nil, err
		}
		return run(ctx, x)
	}
}

// checkRows is with for a check of rows.
func checkRows[T any](
	get func(*Target, context.Context) (*db.Store, error),
	rows func(*db.Store, context.Context) (T, error), judge func(T) []Finding,
) func(context.Context, *Target) ([]Finding, error) {
	return checkWith(get, func(ctx context.Context, store *db.Store) ([]Finding, error) {
		x, err := rows(store, ctx)
		if err != nil {
			return nil, err
		}
		return judge(x), nil
	})
}

// Named returns the named checks, or without names the default checks and the checks of parts.
func Named(names []string, parts ...Part) (checks []Check, err error) {
	all := All()
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Check) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown check %q: mosey doctor --list shows all", name)
		}
		checks = append(checks, all[i])
	}
	if len(names) > 0 {
		return checks, nil
	}
	return slices.DeleteFunc(all, func(c Check) bool {
		return (c.Part == Data || c.Part == Identity) && !slices.Contains(parts, c.Part)
	}), nil
}

// IdentityChecks returns the checks of the published identity.
func IdentityChecks() []Check {
	return slices.Concat(identityChecks(), slices.DeleteFunc(networkChecks(), func(c Check) bool { return c.Name != signatureCheck }))
}

// Examine runs checks and reports the findings of each, at least one a check. If repair is set, it
// repairs them if possible, and checks again. It ends early with its context.
func Examine(ctx context.Context, p *Target, checks []Check, repair bool, report func(Check, []Finding)) error {
	for _, c := range checks {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		found := c.examine(ctx, p)
		if repair && c.repair != nil && slices.ContainsFunc(found, Finding.isProblem) {
			found = c.repairFindings(ctx, p, found)
		}
		report(c, found)
	}
	return nil
}

func (f Finding) isProblem() bool { return f.Severity == Warning || f.Severity == Fault }

// examine runs one check. Its error becomes a finding.
func (c Check) examine(ctx context.Context, p *Target) []Finding {
	found, err := c.runWithTimeout(ctx, p)
	switch {
	case errors.Is(err, ErrAbsent):
		found = append(found, Finding{Severity: Skipped, Found: err.Error()})
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		found = append(found, Finding{Severity: Skipped, Found: "timeout after " + checkTimeout.String() + ": " + err.Error()})
	case err != nil:
		found = append(found, Finding{Severity: Skipped, Found: "check failed: " + err.Error()})
	case len(found) == 0:
		found = append(found, Finding{Severity: Skipped, Found: "no data to check"})
	}
	for i := range found {
		found[i].Check = c.Name
	}
	return found
}

func (c Check) runWithTimeout(ctx context.Context, p *Target) ([]Finding, error) {
	if c.Part != Data {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, checkTimeout)
		defer cancel()
	}
	return c.run(ctx, p)
}

// repairFindings repairs the findings. It returns them marked as repaired, or the findings that
// remain.
func (c Check) repairFindings(ctx context.Context, p *Target, found []Finding) []Finding {
	repairSummary, err := c.repair(ctx, p)
	if err != nil {
		return append(found, Finding{Check: c.Name, Severity: Fault, Found: "repair failed: " + err.Error()})
	}
	remaining := c.examine(ctx, p)
	if slices.ContainsFunc(remaining, Finding.isProblem) {
		return remaining
	}
	for i := range found {
		if found[i].isProblem() {
			found[i].Severity, found[i].Remedy, found[i].Repaired = Note, "", repairSummary
		}
	}
	return found
}

// Faults counts the faults and the warnings.
func Faults(found []Finding) (faults, warnings int) {
	for _, f := range found {
		switch f.Severity {
		case Fault:
			faults++
		case Warning:
			warnings++
		case OK, Skipped, Note:
		}
	}
	return faults, warnings
}

func newFinding(s Severity, remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: s, Found: fmt.Sprintf(format, args...), Remedy: remedy}}
}

func okFinding(format string, args ...any) []Finding { return newFinding(OK, "", format, args...) }

// findingsOrOK returns the findings, or a finding of OK if there are no findings.
func findingsOrOK(found []Finding, format string, args ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return okFinding(format, args...)
}

// store returns the database, or an error that skips a check.
func (p *Target) store(context.Context) (*db.Store, error) {
	if p.Store != nil {
		return p.Store, nil
	}
	return nil, Absent("no database to check")
}
