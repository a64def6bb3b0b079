// Package doctor looks for what a user can get wrong, and says for each what helps: the
// machine, the database, Temporal, the data. The checks are declared in one table (All). None
// depends on another: one that cannot look says why, and the others go on.
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

// Severity is how bad a finding is.
type Severity string

// The severities, from the least.
const (
	OK      Severity = "ok"
	Skipped Severity = "skipped" // the check could not look
	Note    Severity = "note"    // nothing is wrong, but it is good to know
	Warning Severity = "warning" // it works, and will not always
	Fault   Severity = "fault"   // it is wrong
)

// Finding is what a check has found.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Found    string   `json:"found"`
	// Remedy is what helps, in a sentence with the command or the setting.
	Remedy string `json:"remedy,omitempty"`
	// Repaired is what was done about it.
	Repaired string `json:"repaired,omitempty"`
}

// Part is what a check is about.
type Part string

// The parts, in the order of the checks.
const (
	Machine  Part = "machine"
	Network  Part = "network"
	Database Part = "database"
	Temporal Part = "temporal"
	// Identity are checks of what is published about the crawler. They are made where a flag says what that is.
	Identity Part = "identity"
	// Data are checks that read many rows, which are for --check.
	Data Part = "data"
)

// Check is one thing that is looked at.
type Check struct {
	Name string
	Part Part
	// About says what it looks at, in the documentation and in --help.
	About string

	look func(context.Context, *Patient) ([]Finding, error)
	// repair mends what look finds, and says what it has done; nil is that only people can.
	repair func(context.Context, *Patient) (string, error)
}

// Repairs reports whether the check can mend what it finds.
func (c Check) Repairs() bool { return c.repair != nil }

// Port is one that Mosey's own servers listen on, unless it is taken.
type Port struct {
	Number int
	For    string
}

// Patient is what is looked at.
type Patient struct {
	Environ wiring.Env
	// DataDir is the data directory; empty where both servers are given by the environment.
	DataDir string
	// Ports are those that the embedded servers want.
	Ports []Port
	Fetch wiring.FetchFlags
	// Identity says what site owners can find out.
	Identity wiring.IdentityFlags

	// Store is the database, or NoStore why there is none; likewise Temporal.
	// DatabaseURL opens it with the rights of the user.
	Store       *db.Store
	NoStore     error
	DatabaseURL string
	Client      *wiring.Client
	NoTemporal  error

	// Progress is told how far a long check is.
	Progress func(string)

	// page is that about the crawler, once it was asked for.
	page *answer
}

// ErrAbsent says that something is not there, which is no fault: nothing was crawled yet, or no
// Mosey runs.
var ErrAbsent = errors.New("not there")

// absentError is an ErrAbsent in words of its own.
type absentError string

func (e absentError) Error() string   { return string(e) }
func (absentError) Is(err error) bool { return err == ErrAbsent }

// Absent is an ErrAbsent that says why.
func Absent(why string) error { return absentError(why) }

// patience bounds a check, but for those of the data, which are bounded by steps.
const patience = 10 * time.Second

// All are the checks, in the order in which they are made.
func All() []Check {
	return slices.Concat(machineChecks(), networkChecks(), identityChecks(), databaseChecks(), temporalChecks(), dataChecks())
}

func of(part Part, checks []Check) []Check {
	for i := range checks {
		checks[i].Part = part
	}
	return checks
}

// with makes the function of a check that looks at something of the patient. It cannot look without that.
func with[T any](
	get func(*Patient, context.Context) (T, error), look func(context.Context, T) ([]Finding, error),
) func(context.Context, *Patient) ([]Finding, error) {
	return func(ctx context.Context, p *Patient) ([]Finding, error) {
		x, err := get(p, ctx)
		if err != nil {
			return nil, err
		}
		return look(ctx, x)
	}
}

// read is with for a check that judges what it reads of the database.
func read[T any](
	get func(*Patient, context.Context) (*db.Store, error),
	rows func(*db.Store, context.Context) (T, error), judge func(T) []Finding,
) func(context.Context, *Patient) ([]Finding, error) {
	return with(get, func(ctx context.Context, store *db.Store) ([]Finding, error) {
		x, err := rows(store, ctx)
		if err != nil {
			return nil, err
		}
		return judge(x), nil
	})
}

// Named returns the checks with names. Without names it returns those that are always made, and those of parts.
func Named(names []string, parts ...Part) (checks []Check, err error) {
	all := All()
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Check) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no check: mosey doctor --list names all", name)
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

// OfIdentity are the checks of what site owners can find out about the crawler.
func OfIdentity() []Check {
	return slices.Concat(identityChecks(), slices.DeleteFunc(networkChecks(), func(c Check) bool { return c.Name != signatureCheck }))
}

// Examine makes checks and tells what each has found, at least one finding a check. With
// mend, what can be mended is, and looked at again. It ends early with its context.
func Examine(ctx context.Context, p *Patient, checks []Check, mend bool, tell func(Check, []Finding)) error {
	for _, c := range checks {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		found := c.examine(ctx, p)
		if mend && c.repair != nil && slices.ContainsFunc(found, Finding.wrong) {
			found = c.mend(ctx, p, found)
		}
		tell(c, found)
	}
	return nil
}

func (f Finding) wrong() bool { return f.Severity == Warning || f.Severity == Fault }

// examine makes one check. What keeps it from looking is a finding, too.
func (c Check) examine(ctx context.Context, p *Patient) []Finding {
	found, err := c.bounded(ctx, p)
	switch {
	case errors.Is(err, ErrAbsent):
		found = append(found, Finding{Severity: Skipped, Found: err.Error()})
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		found = append(found, Finding{Severity: Skipped, Found: "gave up after " + patience.String() + ": " + err.Error()})
	case err != nil:
		found = append(found, Finding{Severity: Skipped, Found: "could not look: " + err.Error()})
	case len(found) == 0:
		found = append(found, Finding{Severity: Skipped, Found: "there is nothing to look at"})
	}
	for i := range found {
		found[i].Check = c.Name
	}
	return found
}

func (c Check) bounded(ctx context.Context, p *Patient) ([]Finding, error) {
	if c.Part != Data {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	return c.look(ctx, p)
}

// mend repairs what was found, and returns what was found with what was done, and what is
// still wrong afterwards.
func (c Check) mend(ctx context.Context, p *Patient, found []Finding) []Finding {
	did, err := c.repair(ctx, p)
	if err != nil {
		return append(found, Finding{Check: c.Name, Severity: Fault, Found: "could not be repaired: " + err.Error()})
	}
	again := c.examine(ctx, p)
	if slices.ContainsFunc(again, Finding.wrong) {
		return again
	}
	for i := range found {
		if found[i].wrong() {
			found[i].Severity, found[i].Remedy, found[i].Repaired = Note, "", did
		}
	}
	return found
}

// Faults counts what is wrong.
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

func one(s Severity, remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: s, Found: fmt.Sprintf(format, args...), Remedy: remedy}}
}

func fine(format string, args ...any) []Finding { return one(OK, "", format, args...) }

// orFine returns the findings, or if there are none a finding that all is well.
func orFine(found []Finding, format string, args ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return fine(format, args...)
}

// store returns the database, or an error that keeps a check from looking.
func (p *Patient) store(context.Context) (*db.Store, error) {
	if p.Store != nil {
		return p.Store, nil
	}
	return nil, Absent("there is no database to look at")
}
