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
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/export"
)

type cli struct {
	wiring.Flags

	Config  wiring.ConfigFlag `rare:"" help:"Additional settings file (YAML). It overrides mosey/config.yaml in the user's configuration directory." placeholder:"FILE"`
	DataDir string            `help:"Data directory, with the databases. Default: the user's data directory." placeholder:"DIR"`

	Crawl    seed.CrawlCmd       `cmd:"" group:"Crawl:" help:"Crawl pages and their links until the run is done."`
	Seed     seed.Cmd            `cmd:"" group:"Crawl:" help:"Add pages to a run: a few, or lists of millions."`
	Recrawl  seed.RecrawlCmd     `cmd:"" group:"Crawl:" help:"Fetch pages again by their age."`
	Schedule control.ScheduleCmd `cmd:"" rare:"" group:"Crawl:" help:"Seed a run or fetch pages again on a Temporal schedule."`
	Up       upCmd               `cmd:"" group:"Crawl:" help:"Run the embedded stack and a worker until stopped."`

	Status  show.StatusCmd  `cmd:"" group:"Show:" help:"List the runs, or show one run in detail."`
	Queue   show.QueueCmd   `cmd:"" group:"Show:" help:"Show the pending pages by domain."`
	Why     show.WhyCmd     `cmd:"" group:"Show:" help:"Explain the state and next request of a page or domain."`
	Domains show.DomainsCmd `cmd:"" group:"Show:" help:"List domains by status, priority or failures."`
	Domain  show.DomainCmd  `cmd:"" group:"Show:" help:"Show one domain in detail."`
	Page    show.PageCmd    `cmd:"" group:"Show:" help:"Show one page in detail."`
	Links   show.LinksCmd   `cmd:"" rare:"" group:"Show:" help:"Show the links from and to a page or domain."`
	Crawls  show.CrawlsCmd  `cmd:"" rare:"" group:"Show:" help:"Show the history of requests."`
	Search  show.SearchCmd  `cmd:"" group:"Show:" help:"Find pages by their words."`
	Images  images.Cmd      `cmd:"" group:"Show:" help:"List images, and find similar ones."`
	Audit   show.AuditCmd   `cmd:"" rare:"" group:"Show:" help:"Check the stored requests against the politeness rules."`
	Serve   serveCmd        `cmd:"" group:"Show:" help:"Serve the web page that shows crawls."`

	Pause   control.PauseCmd   `cmd:"" group:"Control:" help:"Pause a domain in all runs, or pause a run."`
	Resume  control.ResumeCmd  `cmd:"" group:"Control:" help:"End a domain's pause, or resume a run."`
	Stop    control.StopCmd    `cmd:"" group:"Control:" help:"Stop a run, or a domain until it is seeded again."`
	Set     control.SetCmd     `cmd:"" group:"Control:" help:"Change the settings of a run, or the limits of a domain."`
	Retry   control.RetryCmd   `cmd:"" group:"Control:" help:"Retry an abandoned domain at once."`
	Block   control.BlockCmd   `cmd:"" group:"Control:" help:"Block a domain in all runs."`
	Unblock control.UnblockCmd `cmd:"" group:"Control:" help:"Unblock a domain."`
	List    control.ListCmd    `cmd:"" rare:"" group:"Control:" help:"Change and show the lists of allowed and blocked hosts."`

	Export    show.ExportCmd     `cmd:"" group:"Export and maintain:" help:"Export pages, links, crawls, domains or images to files."`
	Feed      show.FeedCmd       `cmd:"" rare:"" group:"Export and maintain:" help:"Print each page that was read, changed or is gone, as it happens."`
	Archive   show.ArchiveCmd    `cmd:"" rare:"" group:"Export and maintain:" help:"Index, verify or pack the archived responses (--archive)."`
	Reprocess show.ReprocessCmd  `cmd:"" rare:"" group:"Export and maintain:" help:"Read archived pages again, without a request."`
	Rank      show.RankCmd       `cmd:"" rare:"" group:"Export and maintain:" help:"Rank domains and pages by the links to them."`
	Maintain  images.MaintainCmd `cmd:"" rare:"" group:"Export and maintain:" help:"Delete unreferenced images, and mark missing ones."`
	Backup    backup.Cmd         `cmd:"" group:"Export and maintain:" help:"Back up the data directory, even while in use."`
	Restore   backup.RestoreCmd  `cmd:"" group:"Export and maintain:" help:"Restore a data directory from a backup."`
	Doctor    doctorCmd          `cmd:"" group:"Export and maintain:" help:"Check the machine, the database, Temporal and the data."`
	Migrate   migrateCmd         `cmd:"" rare:"" group:"Export and maintain:" help:"Migrate the database, and prepare the Temporal namespace."`
	Workers   control.WorkersCmd `cmd:"" rare:"" group:"Export and maintain:" help:"List the workers, or limit the requests of the fleet."`
	Identity  identity.Cmd       `cmd:"" rare:"" group:"Export and maintain:" help:"Publish and check the crawler's identity: page, addresses, keys."`
	Deploy    control.DeployCmd  `cmd:"" rare:"" group:"Export and maintain:" help:"Make a version of the workers current, or list the versions."`
	Replay    control.ReplayCmd  `cmd:"" rare:"" group:"Export and maintain:" help:"Replay running workflows on this program before a deployment."`
}

// enums holds the lists of names in the tags of flags and arguments.
var enums = kong.Vars{
	"export_formats": command.Join(export.Formats(), ","),
	"export_tables":  command.Join(export.Tables(), ","),
	"image_formats":  command.Join(crawl.ImageFormats, ","),
	"outcomes":       command.Join(crawl.Outcomes(), ","),
	"refresh_kinds":  command.Join(settings.RefreshKinds, ","),
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
		kong.Name("mosey"), enums,
		kong.Description("Mosey is a polite web crawler that survives crashes.\n\n"+
			"Example: mosey crawl https://example.org/ --delay 10s --contact you@example.org\n\n"+
			"mosey help all also lists the rare commands."),
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
		fmt.Fprintf(e.Stderr, "Try: %s --help\n", recognizedCommand(err))
		return code
	}
	e.DataDir, e.Log = c.DataDir, c.LogFlags
	e.TakeFlags(kctx)
	e.Stderr = wiring.PlainEdited(e.Stderr, e.Hint)
	if !wantsJSON(kctx) {
		e.Stdout = wiring.PlainEdited(e.Stdout, e.Hint)
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

// helpArgs turns `mosey`, `mosey help`, `mosey help all` and `mosey help COMMAND` into the flag
// --help. all reports whether to list rare commands.
func helpArgs(args []string) (flags []string, all bool) {
	if len(args) == 0 {
		return []string{"--help"}, false
	}
	if args[0] != "help" {
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

// recognizedCommand returns the part of a wrong command line that was understood.
func recognizedCommand(err error) string {
	words := []string{"mosey"}
	if parseErr, ok := errors.AsType[*kong.ParseError](err); ok && parseErr.Context != nil {
		for _, p := range parseErr.Context.Path {
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
