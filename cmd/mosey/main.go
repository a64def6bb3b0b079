// Command mosey crawls the web politely. It runs everything it needs: Temporal and
// Postgres embedded, unless the environment names existing ones.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // windows name time zones, which a machine may not know

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/backup"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/control"
	"github.com/mosey-web/mosey/cmd/mosey/identity"
	"github.com/mosey-web/mosey/cmd/mosey/images"
	"github.com/mosey-web/mosey/cmd/mosey/move"
	"github.com/mosey-web/mosey/cmd/mosey/seed"
	"github.com/mosey-web/mosey/cmd/mosey/show"
)

// cli is the command line.
type cli struct {
	wiring.Flags

	Config  wiring.ConfigFlag `help:"Further settings file (YAML); it wins over mosey/config.yaml in the user's configuration directory." placeholder:"FILE"`
	DataDir string            `help:"Where Mosey keeps its database and Temporal's. Default: the user's data directory." placeholder:"DIR"`

	Crawl    seed.CrawlCmd       `cmd:"" group:"Crawl:" help:"Crawl pages and what they link to, until done."`
	Seed     seed.Cmd            `cmd:"" group:"Crawl:" help:"Make pages part of a run: a few, or lists of millions."`
	Recrawl  seed.RecrawlCmd     `cmd:"" group:"Crawl:" help:"Fetch pages again that were fetched long ago, or on which there is more to find now."`
	Schedule control.ScheduleCmd `cmd:"" group:"Crawl:" help:"Have Temporal seed or fetch again at its times."`
	Up       upCmd               `cmd:"" group:"Crawl:" help:"Run the embedded stack and a worker until stopped."`

	Status  show.StatusCmd  `cmd:"" group:"See:" help:"List the runs, or show one: totals, rate, how requests end, what takes longest, settings and who changed them."`
	Queue   show.QueueCmd   `cmd:"" group:"See:" help:"Show what is pending, by domain."`
	Why     show.WhyCmd     `cmd:"" group:"See:" help:"Explain why a page or domain is crawled or not, and when next."`
	Domains show.DomainsCmd `cmd:"" group:"See:" help:"List domains, by what is known of them."`
	Domain  show.DomainCmd  `cmd:"" group:"See:" help:"Show what is known about a domain."`
	Page    show.PageCmd    `cmd:"" group:"See:" help:"Show what is known about a page."`
	Links   show.LinksCmd   `cmd:"" group:"See:" help:"Show what a page or a domain links to, and what links to it."`
	Crawls  show.CrawlsCmd  `cmd:"" group:"See:" help:"Show the history of requests."`
	Search  show.SearchCmd  `cmd:"" group:"See:" help:"Find pages by what they say."`
	Images  images.Cmd      `cmd:"" group:"See:" help:"Show the images that were found, and those that look alike."`
	Audit   show.AuditCmd   `cmd:"" group:"See:" help:"Prove from the stored rows how hosts were treated."`
	Serve   serveCmd        `cmd:"" group:"See:" help:"Show a crawl in a browser."`

	Pause   control.PauseCmd   `cmd:"" group:"Steer:" help:"Make no request to a domain for a while, in all runs, or none of a run."`
	Resume  control.ResumeCmd  `cmd:"" group:"Steer:" help:"End a pause, or have a run go on."`
	Stop    control.StopCmd    `cmd:"" group:"Steer:" help:"Stop a run until it is resumed, or a domain until it is seeded again."`
	Set     control.SetCmd     `cmd:"" group:"Steer:" help:"Set a domain's own delay, budget or window, for all runs, or settings of a run."`
	Retry   control.RetryCmd   `cmd:"" group:"Steer:" help:"Ask a domain again that was given up, or whose robots.txt could not be read."`
	Block   control.BlockCmd   `cmd:"" group:"Steer:" help:"Keep away from a domain, in all runs, from the next request on."`
	Unblock control.UnblockCmd `cmd:"" group:"Steer:" help:"End a block."`
	List    control.ListCmd    `cmd:"" group:"Steer:" help:"Change and show the lists of what may be crawled at all."`

	Export   show.ExportCmd     `cmd:"" group:"Take out and look after:" help:"Write pages, links, crawls, domains, images or provenance to files for other programs."`
	Rank     show.RankCmd       `cmd:"" group:"Take out and look after:" help:"Work out what domains and pages are worth by who links to them."`
	Maintain images.MaintainCmd `cmd:"" group:"Take out and look after:" help:"Delete stored images that a crash has left, and note those that are lost."`
	Backup   backup.Cmd         `cmd:"" group:"Take out and look after:" help:"Make a backup of the data directory, while it is used or not."`
	Restore  backup.RestoreCmd  `cmd:"" group:"Take out and look after:" help:"Make a data directory of a backup."`
	Doctor   doctorCmd          `cmd:"" group:"Take out and look after:" help:"Look for what is wrong with the machine, the database, Temporal and the data, and say what helps."`
	Migrate  migrateCmd         `cmd:"" group:"Take out and look after:" help:"Bring the database to the newest schema, and make what Temporal needs for Mosey."`
	Workers  control.WorkersCmd `cmd:"" group:"Take out and look after:" help:"List the workers, or limit the requests that all of them have in flight."`
	Move     move.Cmd           `cmd:"" group:"Take out and look after:" help:"Move a crawl from the data directory to a cluster, or back."`
	Identity identity.Cmd       `cmd:"" group:"Take out and look after:" help:"Publish who the crawler is: a page, its addresses, the keys that sign; and check that as site owners do."`
	Deploy   control.DeployCmd  `cmd:"" group:"Take out and look after:" help:"Make a version of the workers current, and watch others run out; or list the versions."`
	Replay   control.ReplayCmd  `cmd:"" group:"Take out and look after:" help:"Replay workflows that run over this program, before its workers serve them."`
	Version_ versionCmd         `cmd:"" group:"Take out and look after:" name:"version" help:"Print the version, and what it was built with."` //nolint:revive // Version is the flag
}

// newCLI is a command line to be parsed.
func newCLI() *cli {
	c := new(cli)
	c.Crawl.Plugins, c.Recrawl.Plugins = command.SettingFlags(), command.SettingFlags()
	c.Identity.Init.Plugins = command.SettingFlags("delay", "purpose")
	return c
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second Ctrl-C ends the process at once; nothing is lost by that either
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &command.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: command.IsTerminal(os.Stdout),
		Environ: os.Environ(), Settings: settingsFiles(),
	})
	stop()
	os.Exit(code)
}

// run runs one command and returns its exit code.
func run(ctx context.Context, args []string, e *command.Env) int {
	e.Stdout, e.Stderr = wiring.Plain(e.Stdout), wiring.Plain(e.Stderr)
	c := newCLI()
	exited := -1
	parser, err := wiring.NewParser(c, e.Environ, e.Settings,
		kong.Name("mosey"),
		kong.Description("Mosey crawls the web politely, and survives anything.\n\n"+
			"Example: mosey crawl https://example.org/ --delay 10s --contact you@example.org"),
		kong.Writers(e.Stdout, e.Stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return wiring.Fail(e.Stderr, "mosey", wiring.Usagef("%w", err))
	}
	command.HideExpert(parser.Model)
	kctx, err := parser.Parse(show.SearchWords(parser.Model, args))
	if exited >= 0 {
		return exited // --help, --version
	}
	if err != nil && slices.Contains(args, "--json") {
		return wiring.FailJSON(e.Stderr, wiring.Usagef("%w", err))
	}
	if err != nil {
		code := wiring.Fail(e.Stderr, "mosey", wiring.Usagef("%w", err))
		fmt.Fprintf(e.Stderr, "Try: %s --help\n", meant(err))
		return code
	}
	e.DataDir, e.Log, e.Process = c.DataDir, c.LogFlags, command.ProcessFlags(kctx)
	kctx.BindTo(ctx, (*context.Context)(nil))
	if err := kctx.Run(e); err != nil {
		if errors.Is(err, show.ErrReaderGone) {
			return show.ExitReaderGone
		}
		if wantsJSON(kctx) {
			return wiring.FailJSON(e.Stderr, err)
		}
		return wiring.Fail(e.Stderr, "mosey", err)
	}
	return wiring.ExitOK
}

// meant is the command that a mistake was made with, as far as it was understood.
func meant(err error) string {
	words := []string{"mosey"}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok && wrong.Context != nil {
		for _, p := range wrong.Context.Path {
			if p.Command != nil {
				words = append(words, p.Command.Name)
			}
		}
	}
	return strings.Join(words, " ")
}

// wantsJSON reports whether the command is to print JSON.
func wantsJSON(kctx *kong.Context) bool {
	for _, flag := range kctx.Flags() {
		if flag.Name == "json" && flag.Target.Kind() == reflect.Bool {
			return flag.Target.Bool()
		}
	}
	return false
}

func settingsFiles() []string {
	files := []string{"/etc/mosey/config.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "mosey", "config.yaml"))
	}
	return files
}
