// Command mosey crawls the web politely. It runs everything it needs: Temporal and Postgres
// embedded, unless the environment names existing ones.
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
	_ "time/tzdata" // for machines without time zone data

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/backup"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/control"
	"github.com/mosey-web/mosey/cmd/mosey/identity"
	"github.com/mosey-web/mosey/cmd/mosey/images"
	"github.com/mosey-web/mosey/cmd/mosey/seed"
	"github.com/mosey-web/mosey/cmd/mosey/show"
)

type cli struct {
	wiring.Flags

	Config  wiring.ConfigFlag `rare:"" help:"Further settings file (YAML); it wins over mosey/config.yaml in the user's configuration directory." placeholder:"FILE"`
	DataDir string            `help:"Directory of the databases. Default: the user's data directory." placeholder:"DIR"`

	Crawl    seed.CrawlCmd       `cmd:"" group:"Crawl:" help:"Crawl pages and what they link to, until done."`
	Seed     seed.Cmd            `cmd:"" group:"Crawl:" help:"Make pages part of a run: a few, or lists of millions."`
	Recrawl  seed.RecrawlCmd     `cmd:"" group:"Crawl:" help:"Fetch pages again that were fetched long ago."`
	Schedule control.ScheduleCmd `cmd:"" rare:"" group:"Crawl:" help:"Seed a run or fetch pages again at set times, by Temporal."`
	Up       upCmd               `cmd:"" group:"Crawl:" help:"Run the embedded stack and a worker until stopped."`

	Status  show.StatusCmd  `cmd:"" group:"See:" help:"List the runs, or show one: rate, outcomes, settings."`
	Queue   show.QueueCmd   `cmd:"" group:"See:" help:"Show what is pending, by domain."`
	Why     show.WhyCmd     `cmd:"" group:"See:" help:"Explain why a page or domain is crawled or not, and when next."`
	Domains show.DomainsCmd `cmd:"" group:"See:" help:"List domains, by what is known of them."`
	Domain  show.DomainCmd  `cmd:"" group:"See:" help:"Show what is known about a domain."`
	Page    show.PageCmd    `cmd:"" group:"See:" help:"Show what is known about a page."`
	Links   show.LinksCmd   `cmd:"" rare:"" group:"See:" help:"Show what a page or a domain links to, and what links to it."`
	Crawls  show.CrawlsCmd  `cmd:"" rare:"" group:"See:" help:"Show the history of requests."`
	Search  show.SearchCmd  `cmd:"" group:"See:" help:"Find pages by what they say."`
	Images  images.Cmd      `cmd:"" group:"See:" help:"Show the images that were found, and those that look alike."`
	Audit   show.AuditCmd   `cmd:"" rare:"" group:"See:" help:"Prove from the stored rows how hosts were treated."`
	Serve   serveCmd        `cmd:"" group:"See:" help:"Show a crawl in a browser."`

	Pause   control.PauseCmd   `cmd:"" group:"Steer:" help:"Make no request to a domain in all runs, or none of a run."`
	Resume  control.ResumeCmd  `cmd:"" group:"Steer:" help:"End a pause, or resume a run."`
	Stop    control.StopCmd    `cmd:"" group:"Steer:" help:"Stop a run, or a domain until it is seeded again."`
	Set     control.SetCmd     `cmd:"" group:"Steer:" help:"Change settings of a run, or a domain's delay, budget or window."`
	Retry   control.RetryCmd   `cmd:"" group:"Steer:" help:"Request a domain again that was given up."`
	Block   control.BlockCmd   `cmd:"" group:"Steer:" help:"Keep away from a domain in all runs, until it is unblocked."`
	Unblock control.UnblockCmd `cmd:"" group:"Steer:" help:"End a block."`
	List    control.ListCmd    `cmd:"" rare:"" group:"Steer:" help:"Change and show the lists of hosts that may be crawled at all."`

	Export   show.ExportCmd     `cmd:"" group:"Take out and look after:" help:"Write pages, links, crawls, domains or images to files."`
	Rank     show.RankCmd       `cmd:"" rare:"" group:"Take out and look after:" help:"Compute what domains and pages are worth, by who links to them."`
	Maintain images.MaintainCmd `cmd:"" rare:"" group:"Take out and look after:" help:"Delete stored images that a crash left, and note lost ones."`
	Backup   backup.Cmd         `cmd:"" group:"Take out and look after:" help:"Back up the data directory, in use or not."`
	Restore  backup.RestoreCmd  `cmd:"" group:"Take out and look after:" help:"Restore a data directory from a backup."`
	Doctor   doctorCmd          `cmd:"" group:"Take out and look after:" help:"Check the machine, the database, Temporal and the data."`
	Migrate  migrateCmd         `cmd:"" rare:"" group:"Take out and look after:" help:"Migrate the database, and prepare Temporal for Mosey."`
	Workers  control.WorkersCmd `cmd:"" rare:"" group:"Take out and look after:" help:"List the workers, or limit the requests of all of them."`
	Identity identity.Cmd       `cmd:"" rare:"" group:"Take out and look after:" help:"Publish and check who the crawler is: page, addresses, keys."`
	Deploy   control.DeployCmd  `cmd:"" rare:"" group:"Take out and look after:" help:"Make a version of the workers current, or list the versions."`
	Replay   control.ReplayCmd  `cmd:"" rare:"" group:"Take out and look after:" help:"Replay running workflows over this program before a deployment."`
}

func newCLI() *cli {
	c := new(cli)
	c.Crawl.Plugins, c.Recrawl.Plugins = command.SettingFlags(), command.SettingFlags()
	c.Identity.Init.Plugins = command.SettingFlags("delay", "purpose")
	return c
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second Ctrl-C ends the process at once, which loses nothing
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &command.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: command.IsTerminal(os.Stdout),
		Environ: os.Environ(), Settings: settingsFiles(),
	})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, e *command.Env) int {
	e.Stdout, e.Stderr = wiring.Plain(e.Stdout), wiring.Plain(e.Stderr)
	c := newCLI()
	exited := -1
	args, all := helpArgs(args)
	parser, err := wiring.NewParser(c, e.Environ, e.Settings,
		kong.Name("mosey"),
		kong.Description("Mosey crawls the web politely, and survives anything.\n\n"+
			"Example: mosey crawl https://example.org/ --delay 10s --contact you@example.org\n\n"+
			"mosey help all lists the rare commands, too."),
		kong.Writers(e.Stdout, e.Stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: !all}),
	)
	if err != nil {
		return wiring.Fail(e.Stderr, "mosey", wiring.Usagef("%w", err))
	}
	command.HideExpert(parser.Model)
	if !all {
		hideRare(parser.Model)
	}
	kctx, err := parser.Parse(show.SearchWords(parser.Model, args))
	if exited >= 0 {
		return exited // --help or --version
	}
	if err != nil && slices.Contains(args, "--json") {
		return wiring.FailJSON(e.Stderr, wiring.Usagef("%w", err))
	}
	if err != nil {
		code := wiring.Fail(e.Stderr, "mosey", wiring.Usagef("%w", err))
		fmt.Fprintf(e.Stderr, "Try: %s --help\n", meant(err))
		return code
	}
	e.DataDir, e.Log = c.DataDir, c.LogFlags
	e.TakeFlags(kctx)
	e.Stderr = wiring.Edited(e.Stderr, e.Hint)
	if !wantsJSON(kctx) {
		e.Stdout = wiring.Edited(e.Stdout, e.Hint)
	}
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

// helpArgs turns `mosey help`, `mosey help all` and `mosey help COMMAND` into the flag --help. all
// reports whether to list rare commands.
func helpArgs(args []string) (flags []string, all bool) {
	if len(args) == 0 || args[0] != "help" {
		return args, false
	}
	if len(args) > 1 && args[1] == "all" {
		return []string{"--help"}, true
	}
	return append(slices.Clone(args[1:]), "--help"), false
}

// hideRare hides rare commands and flags in the list of commands, but not in a command's help.
func hideRare(app *kong.Application) {
	for _, c := range app.Children {
		c.Hidden = c.Hidden || c.Tag.Has("rare")
	}
	for _, f := range app.Flags {
		f.Hidden = f.Hidden || f.Tag.Has("rare")
	}
}

// meant returns the part of a wrong command line that was understood.
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
