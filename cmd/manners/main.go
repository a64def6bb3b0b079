// Command manners judges crawlers of any kind: it serves the suite's web, runs a crawler against
// it, and judges its log. It needs no database, no Temporal and no other file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	Serve   serveCmd   `cmd:"" help:"Serve the suite's web on this machine and log a crawler's requests, or run and judge a crawler."`
	Judge   judgeCmd   `cmd:"" help:"Judge a crawler by the log of the web. Fails if a case failed that a standard requires."`
	Compare compareCmd `cmd:"" help:"Compare runs of several crawlers, or of one crawler before and after a change."`
	Cases   casesCmd   `cmd:"" help:"List the cases, with their levels and sources."`
}

// env is the environment of a command.
type env struct {
	stdout, stderr io.Writer
	environ        []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second Ctrl-C ends the process at once and loses nothing
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &env{stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ()})
	stop()
	os.Exit(code)
}

// run runs one command and returns its exit code.
func run(ctx context.Context, args []string, e *env) int {
	e.stdout, e.stderr = &plainWriter{to: e.stdout}, &plainWriter{to: e.stderr}
	exited := -1
	parser, err := kong.New(new(cli),
		kong.Name("manners"),
		kong.Description("Judges crawlers of any kind.\n\nExample: manners serve --agent yourbot -- ./crawl.sh"),
		kong.Vars{"version": version()},
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return fail(e.stderr, err)
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help, --version
	}
	report := fail
	if wantsJSON(args) {
		report = failJSON
	}
	if err != nil {
		code := report(e.stderr, usagef("%w", err))
		if !wantsJSON(args) {
			fmt.Fprintf(e.stderr, "Try: %s --help\n", recognizedCommand(err))
		}
		return code
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err := kctx.Run(e); err != nil {
		return report(e.stderr, err)
	}
	return exitOK
}

// wantsJSON reports whether the command's own arguments include --json.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// recognizedCommand returns the command as far as the parser recognized it.
func recognizedCommand(err error) string {
	words := []string{"manners"}
	if parseErr, ok := errors.AsType[*kong.ParseError](err); ok && parseErr.Context != nil {
		for _, p := range parseErr.Context.Path {
			if p.Command != nil {
				words = append(words, p.Command.Name)
			}
		}
	}
	return strings.Join(words, " ")
}

// release is the version of an image, set by its build: -ldflags "-X main.release=1.2.3".
var release = ""

// version returns the version of this program: the release, else the module's version.
func version() string {
	text := release
	if info, ok := debug.ReadBuildInfo(); text == "" && ok {
		text = info.Main.Version
	}
	return strings.TrimPrefix(text, "v")
}
