package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/workflows"
)

// crawlCmd crawls until the run is done.
type crawlCmd struct {
	wiring.FetchFlags

	Seeds []string `arg:"" optional:"" name:"seed" help:"URL or host, file of them (one a line), or - for standard input. None resumes the run."`
	Run_  string   `name:"run" help:"Name of the run. The same name again resumes it. Default: default." default:"default" placeholder:"NAME"` //nolint:revive // Run is the method

	Delay                       *time.Duration    `help:"Least time between two requests to a domain. Default: 10s." placeholder:"DURATION"`
	IPDelay                     *time.Duration    `name:"ip-delay" help:"Least time between two requests to an IP address; 0 is off. Default: 1s." placeholder:"DURATION"`
	GroupBy                     *crawl.GroupBy    `help:"What the delay is kept for: each host, or all hosts of a registered domain together. Default: host." placeholder:"host|registered-domain"`
	SubnetDelay                 *time.Duration    `help:"The same for a subnet (/24, /48); 0, the default, is off." placeholder:"DURATION"`
	DeferAfter                  *time.Duration    `help:"Longest wait that a server can ask for before its domain is deferred. Default: 1h." placeholder:"DURATION"`
	LatencyFactor               *float64          `help:"Leave a domain alone at least so many times as long as its answer took; 0 is off. Default: 5." placeholder:"N"`
	Graylist                    *time.Duration    `help:"Rest of a domain whose answers are mostly errors or take too long; 0 is off. Default: 5m." placeholder:"DURATION"`
	MaxGraylistings             *int              `help:"Rests in a row after which a domain is given up. Default: 5." placeholder:"N"`
	MinRefetch                  *time.Duration    `help:"Skip pages fetched so lately, by whichever run; 0 is off. Default: 24h." placeholder:"DURATION"`
	Window                      *string           `help:"When to crawl, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; several with commas. Default: always." placeholder:"DAYS TIMES ZONE"`
	MaxPages                    *int64            `help:"Page requests in all; -1 is no limit." placeholder:"N"`
	MaxPagesPerDomain           *int64            `help:"Page requests a domain; -1 is no limit." placeholder:"N"`
	MaxPagesPerDepth            *int64            `help:"Page requests a domain of each number of links from a seed; what is over it is skipped. -1 is no limit." placeholder:"N"`
	BudgetGrowth                *float64          `help:"By how much a domain's budget of pages grows when it is spent, if the domain is good, such as 1.25. Default: 1." placeholder:"N"`
	MaxPagesPerRegisteredDomain *int64            `help:"Page requests to all domains of a registered domain, such as a.example.org and b.example.org; -1 is no limit." placeholder:"N"`
	MaxSubdomains               *int              `help:"Domains of one registered domain to follow links to; -1 is no limit. Default: 1000." placeholder:"N"`
	MaxBytes                    *int64            `help:"Bytes of bodies to read in all; -1 is no limit." placeholder:"N"`
	MaxBytesPerDomain           *int64            `help:"Bytes of bodies to read a domain; -1 is no limit." placeholder:"N"`
	MaxTime                     *time.Duration    `help:"How long after its start the run may begin requests; 0 is no limit." placeholder:"DURATION"`
	MaxDepth                    *int              `help:"Links between a seed and a page; -1 is no limit." placeholder:"N"`
	MaxAttempts                 *int              `help:"Attempts a page. Default: 4." placeholder:"N"`
	MaxRedirects                *int              `help:"Redirects in a row that are followed. Default: 20." placeholder:"N"`
	Scope                       *crawl.Scope      `help:"Pages to crawl: those of the seeds' domains (seeds) or all (web). Default: seeds." placeholder:"seeds|web"`
	Purpose                     *crawl.Purpose    `help:"What the crawl is for: search, ai-train or archive. What a publisher forbids for it is not done. Default: search." placeholder:"search|ai-train|archive"`
	Exclude                     patterns          `help:"URLs not to request: the beginning of a path or a URL, * is anything, $ the end, as in robots.txt. Several with commas, or several times; empty is none." placeholder:"PATTERN"`
	Include                     patterns          `help:"Request only URLs like these, and seeds." placeholder:"PATTERN"`
	SkipExtensions              *bool             `help:"Do not request files that cannot be parsed, such as .jpg or .zip; --skip-extensions=false does. Default: true."`
	SkipKnownVariants           *bool             `help:"Do not request other views of pages, as common software has them, such as a wiki's histories; --skip-known-variants=false does. Default: true."`
	Sitemaps                    *onOff            `help:"Fetch the sitemaps that sites name, or have, and the pages they list. Default: on." placeholder:"on|off"`
	Feeds                       *onOff            `help:"Fetch the feeds that seeds and front pages name, and the pages they list first. Default: on." placeholder:"on|off"`
	Images                      *crawl.Images     `help:"Images of pages: leave them alone (off), fetch them for their fingerprints (metadata), or also keep their bytes (store). Default: off." placeholder:"off|metadata|store"`
	ImageScope                  *crawl.ImageScope `help:"Hosts to ask for images: those of the seeds' domains (seeds) or any that a page has an image from (any). Default: any." placeholder:"seeds|any"`
	ImageMinWidth               *int              `help:"Width in pixels below which an image is not recorded. Default: 100." placeholder:"N"`
	ImageMinHeight              *int              `help:"The same of its height. Default: 100." placeholder:"N"`
	MaxImagesPerDomain          *int64            `help:"Image requests a domain; -1 is no limit." placeholder:"N"`
	MaxImagesPerPage            *int              `help:"Images to take from one page, up to 200. Default: 50." placeholder:"N"`
	Thumbnails                  *bool             `help:"Also keep a small picture of each image."`
	Favicons                    *bool             `help:"Also fetch the icons that pages name for their site."`
	BlockOnLogin                *bool             `help:"Count login pages as refusals; --block-on-login=false does not. Default: true."`
	MaxActiveDomains            *int              `help:"Domains crawled at the same time. Default: 1000." placeholder:"N"`
	YieldAfter                  *int64            `help:"Requests after which a domain makes room for others that wait; 0 is never. Default: 500." placeholder:"N"`
	PriorityWeights             weights           `help:"How much the parts of a domain's priority count: rank, inlinks, yield, images, remaining, staleness, errors." placeholder:"PART:WEIGHT,…"`
	PagesPerActivity            *crawl.Pages      `help:"Pages one Temporal activity may fetch; auto is one while Temporal is at ease, else more. Default: auto." placeholder:"auto|N"`
	Standing                    *bool             `help:"Keep the run going when nothing is due."`
	Recrawl                     *bool             `help:"Ask for pages again, the sooner the more often they change, and keep the run going."`

	For    time.Duration `help:"Stop after this long, as Ctrl-C does." placeholder:"DURATION"`
	Detach bool          `help:"Have the Mosey that runs crawl (mosey up, or that of DATABASE_URL and TEMPORAL_ADDRESS); Ctrl-C leaves the run going instead of stopping it."`
	JSON   bool          `name:"json" help:"Print one JSON object a line."`
}

func (c *crawlCmd) settings() crawl.Settings {
	return crawl.Settings{
		Delay: (*crawl.Duration)(c.Delay), IPDelay: (*crawl.Duration)(c.IPDelay),
		SubnetDelay: (*crawl.Duration)(c.SubnetDelay), DeferAfter: (*crawl.Duration)(c.DeferAfter),
		LatencyFactor: c.LatencyFactor, Graylist: (*crawl.Duration)(c.Graylist), MaxGraylistings: c.MaxGraylistings,
		MinRefetch: (*crawl.Duration)(c.MinRefetch), Window: c.Window,
		MaxBytes: c.MaxBytes, MaxBytesPerDomain: c.MaxBytesPerDomain, MaxTime: (*crawl.Duration)(c.MaxTime),
		GroupBy: c.GroupBy, MaxSubdomains: c.MaxSubdomains, MaxPagesPerRegistered: c.MaxPagesPerRegisteredDomain,
		MaxPagesPerDepth: c.MaxPagesPerDepth, BudgetGrowth: c.BudgetGrowth,
		YieldAfter: c.YieldAfter, PriorityWeights: c.PriorityWeights.setting(),
		MaxPages: c.MaxPages, MaxPagesPerDomain: c.MaxPagesPerDomain, MaxDepth: c.MaxDepth, MaxAttempts: c.MaxAttempts,
		MaxRedirects: c.MaxRedirects, Images: c.Images, ImageScope: c.ImageScope, ImageMinWidth: c.ImageMinWidth,
		ImageMinHeight: c.ImageMinHeight, MaxImagesPerDomain: c.MaxImagesPerDomain, MaxImagesPerPage: c.MaxImagesPerPage,
		Thumbnails: c.Thumbnails, Favicons: c.Favicons, Sitemaps: (*bool)(c.Sitemaps), Feeds: (*bool)(c.Feeds),
		Exclude: c.Exclude.setting(), Include: c.Include.setting(),
		SkipExtensions: c.SkipExtensions, SkipKnownVariants: c.SkipKnownVariants,
		Purpose: c.Purpose, BlockOnLogin: c.BlockOnLogin, Scope: c.Scope,
		MaxDomains: c.MaxActiveDomains, PagesPerActivity: (*int)(c.PagesPerActivity), Standing: c.Standing, Recrawl: c.Recrawl,
	}
}

// patterns are those of URLs that a flag was given with.
type patterns []string

// setting is nil where the flag was not given, and none where it was empty.
func (p patterns) setting() *[]string {
	if p == nil {
		return nil
	}
	all := slices.DeleteFunc([]string(slices.Clone(p)), func(one string) bool { return one == "" })
	return &all
}

// weights are those of the parts of a priority; nil is that the flag was not given.
type weights map[string]float64

// UnmarshalText reads weights, such as rank:2,errors:0.5.
func (w *weights) UnmarshalText(text []byte) error {
	set, err := crawl.ParseSettings([]string{"priority_weights=" + string(text)})
	if err == nil {
		*w = *set.PriorityWeights
	}
	return err
}

func (w weights) setting() *map[string]float64 {
	if w == nil {
		return nil
	}
	return new(map[string]float64(w))
}

func (c *crawlCmd) validate() error {
	err := errors.Join(crawl.ValidateRunName(c.Run_), asFlag(politeness.ValidateSettings(c.settings())))
	if err == nil && c.For < 0 {
		err = fmt.Errorf("--for %s: want a duration above zero", c.For)
	}
	if err != nil {
		return wiring.Usagef("%w", err)
	}
	return nil
}

// asFlag names a setting as its flag: max_depth as --max-depth.
func asFlag(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(settingName.ReplaceAllStringFunc(err.Error(), func(name string) string {
		prefix := crawl.ErrInvalid.Error() + ": "
		return prefix + "--" + strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-")
	}))
}

var settingName = regexp.MustCompile(crawl.ErrInvalid.Error() + `: [a-z_]+`)

// Run crawls until the run is done, the context ends or --for is over.
func (c *crawlCmd) Run(ctx context.Context, e *env) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	seeds, err := readSeeds(c.Seeds, e.stdin)
	if err != nil {
		return err
	}
	view := newView(e, c.JSON)
	defer view.close()
	for _, bad := range seeds.bad.shown {
		view.note("skipped: " + bad)
	}
	if seeds.bad.all > len(seeds.bad.shown) {
		view.note(fmt.Sprintf("skipped: %d lines in all that are no URLs", seeds.bad.all))
	}
	open := openCrawler
	if c.Detach {
		open = attachCrawler
	}
	m, err := open(ctx, e, newLogger(view.logs(), slog.LevelWarn), view.note)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		err = errors.Join(err, m.close())
		if stopped && err == nil {
			view.note("Stopped. Everything is kept. To go on:\n  " + c.resumeCommand(e))
		}
	}()
	run, before, err := c.begin(ctx, e, m, seeds.urls)
	if err != nil {
		return err
	}
	if warning := c.NoContact(); warning != "" && !c.Detach {
		view.note("Warning: " + warning + ".")
	}
	view.begin(run, m.stack.UIURL, len(seeds.urls), before.Totals)
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	last, err := c.watch(ctx, m, run, view)
	if err != nil {
		return err
	}
	switch {
	case c.Detach && ctx.Err() != nil:
		view.note(fmt.Sprintf("Left. Run %s goes on without this command. To see it, and to stop it:\n  mosey run %s\n  mosey stop run:%s",
			run.Name, run.Name, run.Name))
	case last.Status == crawl.RunRunning:
		stopped = true
		view.note("Stopping: requests in flight are finished first.")
		last, err = c.stop(m, run)
	case !c.Detach && last.Status.Ended():
		m.awaitDispatcher(run.Name)
	}
	var detailErr error
	if err == nil {
		last.Detail, detailErr = m.store.Detail(context.WithoutCancel(ctx), run.ID, namedShort)
	}
	view.end(last)
	return errors.Join(err, detailErr, idle(before, last))
}

// namedShort and namedLong are how many domains of a kind are named with a run.
const (
	namedShort = 10
	namedLong  = 200
)

// idle is the error of a call that could request nothing though there are pages left.
func idle(before, last crawl.Progress) error {
	if last.Status != crawl.RunDone || last.Attempts() > before.Attempts() || last.Detail == nil || last.TroubledTotal == 0 {
		return nil
	}
	return fmt.Errorf("run %s could not request anything: %s", last.Name, troubledLine(last.Troubled[0]))
}

func (c *crawlCmd) resumeCommand(e *env) string {
	return strings.Join(append([]string{"mosey crawl --run", c.Run_}, e.process...), " ")
}

// begin stores the settings and seeds and gets the run going. before is how far the
// run had come until then.
func (c *crawlCmd) begin(ctx context.Context, e *env, m *crawler, seeds []string) (run crawl.Run, before crawl.Progress, err error) {
	if err := m.checkNamespace(ctx, e); err != nil {
		return run, before, err
	}
	switch run, err = m.store.Run(ctx, c.Run_); {
	case errors.Is(err, crawl.ErrNotFound) && len(seeds) == 0:
		return run, before, wiring.Usagef("run %q does not exist yet: give a URL to begin with, such as https://example.org/", c.Run_)
	case err == nil && run.Status == crawl.RunPaused:
		return run, before, fmt.Errorf("run %s is %s; to have it go on: mosey resume run:%s", run.Name, run.Reason, run.Name)
	}
	if run, err = m.store.EnsureRun(ctx, c.Run_, whoami(), c.settings()); err != nil {
		return run, before, err
	}
	if before, err = m.store.Progress(ctx, run); err != nil {
		return run, before, err
	}
	if err := m.store.StageSeeds(ctx, run.ID, seeds); err != nil {
		return run, before, err
	}
	if !c.Detach {
		if c.ImageStore, err = imageStoreOf(e, c.ImageStore); err != nil {
			return run, before, err
		}
		if set := run.Settings; c.ImageStore == "" && (*set.Images == crawl.ImagesStore || *set.Thumbnails) {
			return run, before, wiring.Usagef("run %s stores images, and there is no place for them: "+
				"name the directory or the bucket that the workers of this cluster store them in with --image-store", run.Name)
		}
		if err := m.startWorker(ctx, e, c.FetchFlags); err != nil {
			return run, before, err
		}
	}
	return run, before, c.seed(ctx, m, run)
}

// seed has what is staged stored, and the run go on.
func (c *crawlCmd) seed(ctx context.Context, m *crawler, run crawl.Run) error {
	starter := workflows.Starter{Client: m.client}
	seeding, err := startSeeding(ctx, m.store, starter, run, c.settings())
	if err != nil {
		return err
	}
	if err := starter.AwaitStarted(ctx, seeding); err != nil && ctx.Err() == nil {
		return fmt.Errorf("store the seeds: %w", err)
	}
	return nil
}

// startSeeding starts a run's next SeedWorkflow. Without new seeds that still stores those
// that an interrupted command has staged, and makes the run go on.
func startSeeding(
	ctx context.Context, store *db.Store, starter workflows.Starter, run crawl.Run, set crawl.Settings,
) (client.WorkflowRun, error) {
	n, err := store.NextSeeding(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	seeding, err := starter.StartSeed(ctx, n, workflows.SeedInput{Run: run.Name, Staged: true, Settings: set})
	if err != nil {
		return nil, describeStart(err)
	}
	return seeding, nil
}

// describeStart adds what to do about a Temporal that was not prepared for Mosey.
func describeStart(err error) error {
	if !strings.Contains(err.Error(), "search attribute") {
		return err
	}
	return fmt.Errorf("%w: Mosey needs %s and %s (Keyword) and %s (KeywordList): create them with "+
		"temporal operator search-attribute create", err, crawl.AttrDomain, crawl.AttrStatus, crawl.AttrRun)
}

// stop stops the run and the worker, and returns how far the run has come.
func (*crawlCmd) stop(m *crawler, run crawl.Run) (crawl.Progress, error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	change := crawl.RunChange{Kind: crawl.ChangeStop, SetBy: whoami(), Reason: "its command was ended"}
	if _, err := m.store.ChangeRun(ctx, run.Name, change); err != nil && !errors.Is(err, crawl.ErrInvalid) {
		return crawl.Progress{}, err // it is done otherwise
	}
	m.wakeDispatcher(run.Name)
	m.awaitDispatcher(run.Name)
	m.worker.Stop()
	m.worker = nil
	// requests that were in flight have taken their time
	ctx, cancel = context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return progress(ctx, m, run.Name)
}

// onOff is a switch.
type onOff bool

// UnmarshalText reads "on" and "off".
func (o *onOff) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on", "true":
		*o = true
	case "off", "false":
		*o = false
	default:
		return fmt.Errorf("%q: want on or off", text)
	}
	return nil
}
