package command

import (
	"context"
	"errors"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// DomainArgument is the domain that a host name or a URL names.
func DomainArgument(text string) (string, error) {
	name, err := urls.DomainOf(text)
	if bad, ok := errors.AsType[*urls.Error](err); ok {
		return "", wiring.Usagef("domain %q: %w: want a host name, such as example.org", bad.Input, bad.Reason)
	}
	return name, err
}

// DomainFlag reads the domain of a flag, which may have been left out.
func DomainFlag(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return DomainArgument(text)
}

// PageArgument reads the URL of a page.
func PageArgument(text string) (urls.URL, error) {
	u, err := urls.Parse(text)
	if err != nil {
		err = NotAbsolute(err)
	}
	return u, err
}

// NotAbsolute is the error of a URL that cannot be read, with what is wanted.
func NotAbsolute(err error) error {
	return wiring.Usagef("%w: want an absolute http or https URL, such as https://example.org/", err)
}

// UnknownPage is the error of a page that is not stored.
func UnknownPage(u urls.URL) error {
	return wiring.Usagef("page %s is "+explain.NotKnown, u)
}

// UnknownDomain is the error of a domain that is not stored.
func UnknownDomain(name string) error {
	return wiring.Usagef("domain %s is "+explain.NotKnown, name)
}

// RunPrefix tells the name of a run from that of a domain.
const RunPrefix = "run:"

// namedShort and namedLong are how many domains of a kind are named with a run.
const (
	NamedShort = 10
	NamedLong  = 200
)

// listMost caps --limit where links and images are listed.
const listMost = 100_000

// CheckLimit refuses a --limit that is not from 1 to listMost.
func CheckLimit(limit int) error {
	if limit < 1 || limit > listMost {
		return wiring.Usagef("--limit %d: want 1 to %d", limit, listMost)
	}
	return nil
}

// NamedRun is the run that an argument or a flag names.
func NamedRun(ctx context.Context, store *db.Store, name string) (crawl.Run, error) {
	run, err := store.Run(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		err = UnknownRun(name)
	}
	return run, err
}

// UnknownRun is the error that names a run that does not exist.
func UnknownRun(name string) error {
	return wiring.Usagef("run %q does not exist; mosey status lists all", name)
}
