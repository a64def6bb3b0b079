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
	wiring.Flags

	Config  wiring.ConfigFlag `help:"Further settings file (YAML); it wins over mosey/config.yaml in the user's configuration directory." placeholder:"FILE"`
	DataDir string            `help:"Where Mosey keeps its database and Temporal's. Default: the user's data directory." placeholder:"DIR"`

	Crawl    crawlCmd    `cmd:"" help:"Crawl pages and what they link to, until done."`
	Seed     seedCmd     `cmd:"" help:"Make pages part of a run: a few, or lists of millions."`
	Up       upCmd       `cmd:"" help:"Run the embedded stack and a worker until stopped."`
	Status   statusCmd   `cmd:"" help:"List the runs, or show one: totals, rate, how requests end, what takes longest, settings and who changed them."`
	Queue    queueCmd    `cmd:"" help:"Show what is pending, by domain."`
	Domains  domainsCmd  `cmd:"" help:"List domains, by what is known of them."`
	Domain   domainCmd   `cmd:"" help:"Show what is known about a domain."`
	Page     pageCmd     `cmd:"" help:"Show what is known about a page."`
	Links    linksCmd    `cmd:"" help:"Show what a page or a domain links to, and what links to it."`
	Crawls   crawlsCmd   `cmd:"" help:"Show the history of requests."`
	Rank     rankCmd     `cmd:"" help:"Work out what domains and pages are worth by who links to them."`
	Search   searchCmd   `cmd:"" help:"Find pages by what they say."`
	Images   imagesCmd   `cmd:"" help:"Show the images that were found, and those that look alike."`
	Export   exportCmd   `cmd:"" help:"Write pages, links, crawls, domains, images or provenance to files for other programs."`
	Why      whyCmd      `cmd:"" help:"Explain why a page or domain is crawled or not, and when next."`
	Audit    auditCmd    `cmd:"" help:"Prove from the stored rows how hosts were treated."`
	Pause    pauseCmd    `cmd:"" help:"Make no request to a domain for a while, in all runs, or none of a run."`
	Resume   resumeCmd   `cmd:"" help:"End a pause, or have a run go on."`
	Stop     stopCmd     `cmd:"" help:"Stop a run until it is resumed, or a domain until it is seeded again."`
	Block    blockCmd    `cmd:"" help:"Keep away from a domain, in all runs, from the next request on."`
	Unblock  unblockCmd  `cmd:"" help:"End a block."`
	Retry    retryCmd    `cmd:"" help:"Ask a domain again that was given up, or whose robots.txt could not be read."`
	List     listCmd     `cmd:"" help:"Change and show the lists of what may be crawled at all."`
	Set      setCmd      `cmd:"" help:"Set a domain's own delay, budget or window, for all runs, or settings of a run."`
	Recrawl  recrawlCmd  `cmd:"" help:"Fetch pages again that were fetched long ago, or on which there is more to find now."`
	Schedule scheduleCmd `cmd:"" help:"Have Temporal seed or fetch again at its times."`
	Maintain maintainCmd `cmd:"" help:"Delete stored images that a crash has left, and note those that are lost."`
	Migrate  migrateCmd  `cmd:"" help:"Bring the database to the newest schema."`
}

// newCLI is a command line to be parsed.
func newCLI() *cli {
	c := new(cli)
	c.Crawl.Plugins = settingFlags()
	return c
}

// env is what a command touches of the world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// terminal says that stdout is one.
	terminal bool
	environ  wiring.Env
	// settings are the files that settings are read from, where they exist.
	settings []string
	dataDir  string
	// process is the flags that were given and belong to the process, quoted.
	process []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second Ctrl-C ends the process at once; nothing is lost by that either
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal(os.Stdout),
		environ: os.Environ(), settings: settingsFiles(),
	})
	stop()
	os.Exit(code)
}

// run runs one command and returns its exit code.
func run(ctx context.Context, args []string, e *env) int {
	e.stdout, e.stderr = wiring.Plain(e.stdout), wiring.Plain(e.stderr)
	c := newCLI()
	exited := -1
	parser, err := wiring.NewParser(c, e.environ, e.settings,
		kong.Name("mosey"),
		kong.Description("Mosey crawls the web politely, and survives anything.\n\n"+
			"Example: mosey crawl https://example.org/ --delay 10s --contact you@example.org"),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return wiring.Fail(e.stderr, "mosey", wiring.Usagef("%w", err))
	}
	hideExpert(parser.Model)
	kctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help, --version
	}
	if err != nil {
		code := wiring.Fail(e.stderr, "mosey", wiring.Usagef("%w", err))
		fmt.Fprintln(e.stderr, "Try: mosey --help")
		return code
	}
	e.dataDir, e.process = c.DataDir, processFlags(kctx)
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err := kctx.Run(e); err != nil {
		if errors.Is(err, errReaderGone) {
			return exitReaderGone
		}
		return wiring.Fail(e.stderr, "mosey", err)
	}
	return wiring.ExitOK
}

func settingsFiles() []string {
	files := []string{"/etc/mosey/config.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "mosey", "config.yaml"))
	}
	return files
}
