// Package wiring assembles a worker from a database, a Temporal client, activities and workflows.
// The mosey and worker commands share it.
package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/extra"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/registration"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/workflows"
)

// FetchFlags are the settings of a worker's requests. They do not belong to a run, because starting
// a run must not open a network. Rare settings are marked expert.
type FetchFlags struct {
	AgentFlags
	SignFlags

	DNSServer       []string       `name:"dns-server" help:"Name server to use instead of the system's. Repeatable: if one fails, the next is used." expert:"" placeholder:"HOST:PORT"`
	AllowNetwork    []netip.Prefix `help:"Private network or address that may be crawled, such as 10.0.0.0/8. Repeatable." expert:"" placeholder:"CIDR"`
	MalformedRobots string         `name:"malformed-robots" help:"Effect of a malformed robots.txt: disallow or allow. Default: disallow." enum:"disallow,allow" default:"disallow" expert:"" placeholder:"disallow|allow"`
	SeedDir         string         `help:"Directory of the seed files that SeedWorkflow may read. Default: none." expert:"" placeholder:"DIR"`
	ImageStore      string         `help:"Image store (for --images store, and thumbnails): a directory, or the URL of a bucket (s3://). Default: images in the data directory, if there is one." expert:"" placeholder:"DIR|URL"`
	Exec            string         `help:"Program for a line of the shell. It reads each page that was read as a JSON object on a line, and answers with a line: an object of at most 8 KiB, which is stored with the page, or null. See docs/feed.md." expert:"" placeholder:"COMMAND"`
	Archive         string         `help:"Archive: a directory, or the URL of a bucket (s3://). Each response, with its request, is stored in WARC files there, unless its publisher forbids it. See docs/archive.md." expert:"" placeholder:"DIR|URL"`
	ArchiveSpool    string         `help:"Directory for files of the archive until they are in its bucket. Default: archive in the data directory, if there is one." expert:"" placeholder:"DIR"`
	RDAP            string         `name:"rdap" help:"RDAP service for the registration of domains that seem to have changed owners, such as https://rdap.org. Default: none." expert:"" placeholder:"URL"`
	WebURL          string         `name:"web-url" help:"URL of the web page, to which Temporal's UI links from each domain and run. Default: the web page of this process, if any." expert:"" placeholder:"URL"`
	Timeout         time.Duration  `help:"Timeout of one request. Default: 30s." default:"30s" expert:"" placeholder:"DURATION"`
	MaxFetches      int            `help:"Maximum number of requests in flight of this process; mosey workers limits the fleet. Default: 256." default:"256" expert:"" placeholder:"N"`
	Drain           time.Duration  `help:"Timeout for requests in flight when this process stops; later requests are canceled and retried. Default: 20s." default:"20s" expert:"" placeholder:"DURATION"`
}

// Validate returns an error for each flag out of bounds.
func (f FetchFlags) Validate() error {
	errs := []error{f.CheckAgent()}
	if u, err := url.Parse(f.WebURL); f.WebURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		errs = append(errs, fmt.Errorf("--web-url %q: want an address such as https://mosey.example.org", f.WebURL))
	}
	if f.Timeout < time.Second || f.Timeout > 10*time.Minute {
		errs = append(errs, fmt.Errorf("--timeout %s: want 1s to 10m", f.Timeout))
	}
	if f.MaxFetches < 1 || f.MaxFetches > 100_000 {
		errs = append(errs, fmt.Errorf("--max-fetches %d: want 1 to 100000", f.MaxFetches))
	}
	if f.Drain < 0 || f.Drain > 10*time.Minute {
		errs = append(errs, fmt.Errorf("--drain %s: want 0s to 10m", f.Drain))
	}
	if err := (dns.Config{Servers: f.DNSServer}).Validate(); err != nil {
		errs = append(errs, fmt.Errorf("--dns-server: %w", err))
	}
	if err := registration.Validate(f.RDAP); f.RDAP != "" && err != nil {
		errs = append(errs, fmt.Errorf("--rdap %w", err))
	}
	_, err := f.signer(nil)
	errs = append(errs, f.config().Validate(), err)
	for flag, location := range map[string]string{"--image-store": f.ImageStore, "--archive": f.Archive} {
		if err := imagestore.Validate(location); location != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
		}
	}
	return errors.Join(errs...)
}

func (f FetchFlags) config() fetch.Config {
	c := fetch.Config{UserAgent: f.Agent(), AllowNetworks: f.AllowNetwork, TotalTimeout: f.Timeout}.WithDefaults()
	// the parts of a request need no more time than all of it
	c.ConnectTimeout = min(c.ConnectTimeout, f.Timeout)
	c.FirstByteTimeout = min(c.FirstByteTimeout, f.Timeout)
	return c
}

// NewFetcher creates a fetch client and a resolver. logger, which may be nil, logs the signing
// keys.
func (f FetchFlags) NewFetcher(logger *slog.Logger) (*fetch.Client, *dns.Resolver, error) {
	config := f.config()
	signer, err := f.signer(logger)
	if err != nil {
		return nil, nil, err
	}
	if signer != nil {
		config.Sign = signer.Sign
	}
	fetcher, err := fetch.New(config)
	if err != nil {
		return nil, nil, err
	}
	resolver, err := dns.New(dns.Config{Servers: f.DNSServer})
	return fetcher, resolver, err
}

// program returns the operator's program, or nil.
func (f FetchFlags) program(logger *slog.Logger) *extra.Program {
	if f.Exec == "" {
		return nil
	}
	return extra.New(f.Exec, extra.DefaultTimeout, logger)
}

// images returns the image store, or nil without one.
func (f FetchFlags) images(t *Telemetry) activities.ImageStore {
	if f.ImageStore == "" {
		return nil
	}
	return &ImageStore{Location: f.ImageStore, t: t}
}

// seedFileCache returns the directory of downloaded seed files, or "" if the user has no cache.
func seedFileCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mosey", "lists")
}

func identity() string {
	return fmt.Sprintf("mosey/%s %d@%s", Version(), os.Getpid(), hostname())
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// NewWorker returns a worker, which the caller starts and stops. models may be nil. It returns a
// *ForeignNamespaceError for a namespace of another database.
func NewWorker(
	ctx context.Context, c *Client, store *db.Store, f FetchFlags, v ServeFlags, models language.Models, logger *slog.Logger, t *Telemetry,
) (*Worker, error) {
	fetcher, resolver, err := f.NewFetcher(logger)
	if err != nil {
		return nil, err
	}
	reachedHosts, err := store.ReachedHosts(ctx)
	if err != nil {
		return nil, err
	}
	resolver.AddKnownHosts(reachedHosts)
	token, err := f.Token()
	if err != nil {
		return nil, err
	}
	if err := ClaimNamespace(ctx, c, store); err != nil {
		return nil, err
	}
	if _, err := store.PermitNetworks(ctx, f.AllowNetwork); err != nil {
		return nil, err
	}
	runs, err := store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	fleet, err := newMember(ctx, store, f, v, logger)
	if err != nil {
		return nil, err
	}
	journal := network.NewJournal(store, identity(), logger)
	monitor := network.New(network.Config{OnChange: t.countOutages(journal.Notify), Jitter: rand.Float64})
	config := activities.Config{
		Store: store, Registry: f.registry(fetcher, resolver),
		Starter: workflows.Starter{Client: c, PageURL: f.WebURL, Versioned: v.BuildID != ""},
		Requests: request.Config{
			Fetcher: fetcher, Resolver: resolver, MaxFetches: f.MaxFetches, Permits: fleet.permits, Worker: fleet.ID,
			Timeout: f.Timeout, Network: monitor, Log: logger,
		},
		Completer: c.Client, Agent: token, AllowMalformed: f.MalformedRobots == "allow", Languages: language.New(models),
		SeedFiles: activities.SeedFiles{Dir: f.SeedDir, Cache: seedFileCache()}, Images: f.images(t), Program: f.program(logger),
	}
	responses, err := f.archive(ctx, logger, &config.Requests)
	if err != nil {
		return nil, err
	}
	if t.hasTraces() {
		config.Requests.Tracer = t.traces.Tracer
	}
	if t.hasMetrics() {
		config.Requests.Observe = t.Attempt
	}
	acts, err := activities.New(config)
	if err != nil {
		return nil, err
	}
	if t.hasMetrics() {
		t.Cache("dns", resolver.CacheUse)
		t.Cache("robots", acts.Rulings.CacheUse)
		t.Fleet(fleet.use)
	}
	worker.SetStickyWorkflowCacheSize(workflowCacheSize(ctx, runs, logger))
	w := &Worker{
		role: v.Role, drain: f.Drain, stopTimeout: f.StopTimeout(), acts: acts, fleet: fleet, stopFleet: func() {},
		journal: journal, stopJournal: func() {},
		reconciler: reconciler{store: store, starter: workflows.Starter{Client: c}, logger: logger},
		orphans:    orphans{client: c, logger: logger}, claimant: claimant{client: c, store: store, logger: logger},
		keywords: keywords.Writer{Store: store, Logger: logger}, stopReconciling: func() {}, stopKeywords: func() {},
		program: config.Program, archive: responses, logger: logger, outdated: make(chan error, 1),
	}
	if v.Deployment != "" {
		w.reconciler.waker = workflows.NewWaker(workflows.Deployment{Client: c, Name: v.Deployment, Now: time.Now})
	}
	if v.Role != RoleControl {
		w.queues = append(w.queues, queue{crawl.TaskQueue, newFetchWorker(c, f, v, acts)})
	}
	if v.Role != RoleFetch {
		w.queues = append(w.queues, queue{crawl.ControlTaskQueue, newControlWorker(c, f, v, acts)})
	}
	w.stopServing = sync.OnceFunc(w.stopQueues)
	return w, nil
}

func (w *Worker) stopQueues() {
	var stopping sync.WaitGroup
	for _, q := range w.queues {
		stopping.Go(q.Stop)
	}
	stopping.Wait()
}

type queue struct {
	name string
	worker.Worker
}

func newFetchWorker(c *Client, f FetchFlags, v ServeFlags, acts *activities.Activities) worker.Worker {
	w := worker.New(c.Client, crawl.TaskQueue, worker.Options{
		// Activities that wait for a slot are handed over and not counted. MaxFetches bounds the
		// others.
		MaxConcurrentActivityExecutionSize: maxActivities,
		// The SDK sends a heartbeat at four fifths of each activity's time-out, if this allows.
		MaxHeartbeatThrottleInterval: 10 * time.Minute,
		WorkflowTaskPollerBehavior:   pollers(maxWorkflowPollers),
		ActivityTaskPollerBehavior:   pollers(maxActivityPollers),
		WorkerStopTimeout:            f.Drain + recordTimeout,
		DeploymentOptions:            v.options(),
	})
	workflows.Register(w)
	activities.Register(w, acts)
	return w
}

// newControlWorker serves the activities that start and end workflows, which never wait for
// requests.
func newControlWorker(c *Client, f FetchFlags, v ServeFlags, acts *activities.Activities) worker.Worker {
	w := worker.New(c.Client, crawl.ControlTaskQueue, worker.Options{
		DisableWorkflowWorker:      true,
		ActivityTaskPollerBehavior: pollers(maxControlPollers),
		WorkerStopTimeout:          f.Drain + recordTimeout,
		DeploymentOptions:          v.options(),
	})
	activities.Register(w, acts)
	return w
}

// maxActivities bounds the running activities of a process, except those handed over.
const maxActivities = 100_000

// Limits of pollers; Temporal reports the useful number.
const (
	maxWorkflowPollers = 32
	maxActivityPollers = 32
	maxControlPollers  = 8
)

func pollers(limit int) worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: min(8, limit), MinimumNumberOfPollers: 2, MaximumNumberOfPollers: limit,
	})
}

// Worker serves the task queues of its role.
type Worker struct {
	role            Role
	drain           time.Duration
	stopTimeout     time.Duration
	queues          []queue
	acts            *activities.Activities
	fleet           *fleetMember
	stopFleet       func()
	journal         *network.Journal
	stopJournal     func()
	reconciler      reconciler
	orphans         orphans
	claimant        claimant
	stopReconciling func() // of the three above and watchSchema
	keywords        keywords.Writer
	stopKeywords    func()
	program         *extra.Program   // nil without --exec
	archive         *archive.Archive // nil without --archive
	stopServing     func()
	outdated        chan error
	logger          *slog.Logger

	// WaitingFile is the file for the domains waiting at Stop; empty hands them over by Temporal. If
	// Temporal stops too, that would take milliseconds a domain, and again at the next start. The file
	// is in the directory of that Temporal, and deleted with it. Set it before Start.
	WaitingFile string
}

// Start starts serving.
func (w *Worker) Start() error {
	w.resumeWaiting()
	w.stopFleet = background(w.fleet.run)
	for i, q := range w.queues {
		if err := q.Start(); err != nil {
			for _, begun := range w.queues[:i] {
				begun.Stop()
			}
			w.stopFleet()
			w.fleet.unregister()
			return fmt.Errorf("serve %s: %w", q.name, err)
		}
	}
	w.stopJournal = background(w.journal.Run)
	loops := []func(context.Context){w.orphans.run, w.claimant.run, w.watchSchema}
	if w.role != RoleFetch {
		loops = append(loops, w.reconciler.run)
		w.stopKeywords = background(w.keywords.Run)
	}
	w.stopReconciling = background(loops...)
	return nil
}

var _ activities.Store = (*db.Store)(nil)
