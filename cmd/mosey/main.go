// Command mosey crawls the web politely. It runs everything it needs: Temporal and
// Postgres embedded, unless the environment names existing ones.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	_ "time/tzdata" // windows name time zones, which a machine may not know

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// cli is the command line.
type cli struct {
	Config  kong.ConfigFlag `help:"Further settings file (YAML); it wins over mosey/config.yaml in the user's configuration directory." placeholder:"FILE"`
	DataDir string          `help:"Where Mosey keeps its database and Temporal's. Default: the user's data directory." placeholder:"DIR"`

	Crawl   crawlCmd   `cmd:"" help:"Crawl pages and what they link to, until done."`
	Up      upCmd      `cmd:"" help:"Run the embedded stack and a worker until stopped."`
	Status  statusCmd  `cmd:"" help:"Show how runs are getting on."`
	Domain  domainCmd  `cmd:"" help:"Show what is known about a domain."`
	Page    pageCmd    `cmd:"" help:"Show what is known about a page."`
	Why     whyCmd     `cmd:"" help:"Explain why a page or domain is crawled or not, and when next."`
	Audit   auditCmd   `cmd:"" help:"Prove from the stored rows how hosts were treated."`
	Pause   pauseCmd   `cmd:"" help:"Make no request to a domain for a while, in all runs."`
	Resume  resumeCmd  `cmd:"" help:"End a pause."`
	Block   blockCmd   `cmd:"" help:"Keep away from a domain, in all runs, from the next request on."`
	Unblock unblockCmd `cmd:"" help:"End a block."`
	Set     setCmd     `cmd:"" help:"Set a domain's own delay, budget or window, for all runs."`
	Migrate migrateCmd `cmd:"" help:"Bring the database to the newest schema."`
}

// usageError is a mistake on the command line: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// env is what a command touches of the world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	dataDir        string
	// terminal says that stdout is one.
	terminal bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second Ctrl-C ends the process at once; nothing is lost by that either
	context.AfterFunc(ctx, stop)
	code := exitFailed
	if err := wiring.IgnoreEmptyEnv(); err != nil {
		fmt.Fprintln(os.Stderr, "mosey:", err)
	} else {
		code = run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, append(wiring.KongOptions(configFiles()...),
		kong.Name("mosey"),
		kong.Description("Mosey crawls the web politely, and survives anything.\n\n"+
			"Example: mosey crawl https://example.org/ --delay 10s --contact you@example.org"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)...)
	if err != nil {
		fmt.Fprintln(stderr, "mosey:", err)
		return exitFailed
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintf(stderr, "mosey: %v\nTry: mosey --help\n", err)
		return exitUsage
	}
	e := &env{stdin: stdin, stdout: stdout, stderr: stderr, dataDir: c.DataDir, terminal: isTerminal(stdout)}
	kctx.BindTo(ctx, (*context.Context)(nil))
	err = kctx.Run(e)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "mosey:", err)
		return exitUsage
	default:
		fmt.Fprintln(stderr, "mosey:", err)
		return exitFailed
	}
}

func configFiles() []string {
	files := []string{"/etc/mosey/config.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "mosey", "config.yaml"))
	}
	return files
}
