// Command release builds and packs a release of Mosey, from a commit, into dist/. It does not tag
// and does not push: it prints the remaining steps.
//
//	go tool task release VERSION=v0.1.0
//
// docs/releasing.md has the steps before and after it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// The exit codes, as in mosey.
const (
	exitFailed = 1
	exitUsage  = 2
)

// options are the command line's arguments.
type options struct {
	version  string
	snapshot bool
	only     string
}

// refusal is a release that does not begin, for a reason that a person has to fix.
type refusal struct{ error }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = release(ctx, o, stdout)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "release:", err)
	if errors.As(err, new(refusal)) {
		return exitUsage
	}
	return exitFailed
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: release [flags] VERSION, such as v0.1.0")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.snapshot, "snapshot", false,
		"try it: the version names the commit, and what CHANGELOG.md has under Unreleased is enough")
	flags.StringVar(&o.only, "only", "", "build these alone, such as worker/linux/amd64,mosey/windows/arm64")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, refusal{err}
	}
	if flags.NArg() != 1 {
		return o, refuse("%d arguments: want one, the version, such as v0.1.0", flags.NArg())
	}
	o.version = flags.Arg(0)
	return o, nil
}

// release makes all checks that can refuse the release before it builds anything.
func release(ctx context.Context, o options, stdout io.Writer) (err error) {
	if err := checkVersion(o.version); err != nil {
		return err
	}
	targets, err := chosen(o.only)
	if err != nil {
		return err
	}
	from, err := newSource(ctx, o)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mosey-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b, err := newBuilder(ctx, from, work)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := b.release(ctx, t, stdout); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := b.finish(); err != nil {
		return err
	}
	tellRest(stdout, from)
	return nil
}

// tellRest prints the remaining steps for people.
func tellRest(stdout io.Writer, from source) {
	fmt.Fprintf(stdout, "\nMosey %s of commit %s is in %s. Nothing was tagged or pushed.\n", from.version, from.commit, from.dist)
	if from.snapshot {
		fmt.Fprintln(stdout, "It is a snapshot, to be looked at and not to be released.")
		return
	}
	fmt.Fprintf(stdout, `What remains (docs/releasing.md):
  git tag -s %[1]s -m "Mosey %[1]s" %[2]s
  git push origin %[1]s
  gpg --armor --detach-sign dist/%[3]s
  publish the files of dist/ with the text of dist/%[4]s
  go tool task replay:record VERSION=%[1]s
`, from.version, from.commit, sumsName, notesName)
}
