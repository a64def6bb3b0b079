package reasons

// Reason is the rule that decided a wait or a skip, or left an answer unread. The values are stored
// with slots, domains and crawls, and shown to people.
type Reason string

// The reasons. The table has their meanings.
const (
	Delay       Reason = "delay"
	Domain      Reason = "domain delay"
	CrawlDelay  Reason = "crawl-delay"
	RetryAfter  Reason = "retry-after"
	Backoff     Reason = "back-off"
	Latency     Reason = "latency"
	Slowdown    Reason = "slowdown"
	Graylist    Reason = "graylisted"
	InFlight    Reason = "in flight"
	IP          Reason = "ip"
	Subnet      Reason = "subnet"
	Registered  Reason = "registered"
	Robots      Reason = "robots.txt unreachable"
	Window      Reason = "window"
	Scheduled   Reason = "scheduled"
	Yields      Reason = "yielded"
	Deferred    Reason = "deferred"
	Paused      Reason = "paused"
	Stopped     Reason = "stopped"
	Blocked     Reason = "blocked"
	Listed      Reason = "listed"
	Budget      Reason = "budget"
	Fresh       Reason = "fresh"
	MinRefetch  Reason = "min-refetch"
	Trap        Reason = "trap"
	Excluded    Reason = "excluded"
	Extension   Reason = "extension"
	Variant     Reason = "variant"
	Scheme      Reason = "scheme"
	Ports       Reason = "ports"
	ImageBudget Reason = "image-budget"
	ImagesOff   Reason = "images-off"
	Forgotten   Reason = "forgotten"
	Stale       Reason = "not pending"
	TakenBack   Reason = "undone"
	NotMade     Reason = "not requested"
	NoTarget    Reason = "no target"
	Empty       Reason = "empty"
	MediaType   Reason = "media type"
	Malformed   Reason = "malformed"
	Reserved    Reason = "reserved"
)

var table = map[Reason]Row{
	// Reasons for a closed slot.
	Delay:      {Of: Slot, Words: "the run's delay is not over"},
	Domain:     {Of: Slot, Words: "the delay that an operator set for the domain is not over"},
	CrawlDelay: {Of: Slot, Words: "the Crawl-delay of robots.txt is not over"},
	RetryAfter: {Of: Slot, Words: "the server sent Retry-After (RFC 9110 §10.2.3)", Status: StatusWaiting, Defers: true},
	Backoff:    {Of: Slot, Words: "the last requests failed", Status: StatusWaiting, Defers: true},
	Latency:    {Of: Slot, Words: "the last response was slow"},
	Slowdown:   {Of: Slot, Words: "responses have become slower"},
	Graylist:   {Of: Slot, Words: "most responses were errors or slow", Status: StatusGraylisted},
	InFlight:   {Of: Slot, Words: "a request may still be in flight", HoldsRun: true},
	IP:         {Of: SharedSlot, Words: "another domain has the same address"},
	Subnet:     {Of: SharedSlot, Words: "another domain is in the same subnet"},
	Registered: {Of: SharedSlot, Words: "another host belongs to the same registered domain"},
	Robots:     {Of: Slot, Words: "robots.txt could not be fetched", Status: StatusWaiting, Defers: true},

	// Reasons for not requesting a domain.
	Window:    {Of: Site, Words: "the request window is closed", Rank: 6, Status: StatusWaiting, EndsWithNews: true, HoldsRun: true},
	Scheduled: {Of: Site, Words: "no page is due yet", Status: StatusWaiting, EndsWithNews: true, Defers: true},
	Yields:    {Of: Site, Words: "the domain yields to waiting domains"},
	Deferred:  {Of: Site, Words: "the server sent a long Retry-After, or was unreachable", Rank: 5, Status: StatusDeferred},
	Paused:    {Of: Site, Words: "an operator paused the domain", Control: "pause", Rank: 4, Status: StatusPaused, HoldsRun: true},
	Stopped:   {Of: Site, Words: "an operator stopped the domain", Control: "stop", Rank: 3, Status: StatusPaused},
	Blocked:   {Of: Site, Words: "an operator blocked the domain", Control: "block", Rank: 2, Status: StatusPaused},
	Listed:    {Of: Site, Words: "a list excludes the domain", Rank: 1},
	Budget:    {Of: Site, Words: "the budget of the domain is spent"},

	// Reasons for skipping a page.
	Fresh: {
		Of: Page, Words: "their last responses are still fresh", Remedy: "mosey why URL shows until when", Known: true,
	},
	MinRefetch: {
		Of: Page, Words: "fetched recently", Remedy: "--set min_refetch=0s fetches them anyway", Known: true,
	},
	Trap: {
		Of: Page, Words: "probable crawler traps", Remedy: "mosey why URL shows the evidence; a seeded page is fetched anyway",
		Again: []Event{SeedGiven, TrapsReset},
	},
	Excluded: {
		Of: Page, Words: "excluded by --include or --exclude of the run", Remedy: "other patterns reconsider them",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven},
	},
	Extension: {
		Of: Page, Words: "their file name extensions are not parsable", Remedy: "--set skip=variants fetches them anyway",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven, ImageFound},
	},
	Variant: {
		Of: Page, Words: "known variants of other pages", Remedy: "--set skip=extensions fetches them anyway",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven},
	},
	Scheme: {
		Of: Page, Words: "https is unreachable, so that http is requested instead",
		Remedy:   "a seed with https:// is never requested over http",
		Unwanted: true, Again: []Event{LinkFound},
	},
	Ports: {
		Of: Page, Words: "on too many ports of one host", Remedy: "a seeded page is fetched anyway",
		Unwanted: true, Again: []Event{SeedGiven},
	},
	ImageBudget: {
		Of: Image, Words: "over the image budget of their domain", Remedy: "raise max_images_per_domain to fetch them",
		Again: []Event{SettingsChanged},
	},
	ImagesOff: {
		Of: Image, Words: "the run no longer fetches images", Remedy: "--images metadata fetches them", Again: []Event{SettingsChanged},
	},
	Forgotten: {
		Of: Image, Words: "named only by forgotten pages", Remedy: "mosey unblock rereads these pages",
		Again: []Event{ImageFound},
	},

	// Reasons for an attempt that was not made, or does not count.
	Stale:     {Of: Attempt, Words: "another worker has the page, the run has stopped, or a budget is spent"},
	TakenBack: {Of: Attempt, Words: "an internal failure interrupted it"},
	NotMade:   {Of: Attempt, Words: "an internal failure prevented the request"},

	// Reasons for an empty answer below 400. The error of its attempt has the details.
	NoTarget: {Of: Answer, Words: "redirects without a new target", Remedy: "mosey page URL shows their targets"},
	Empty: {
		Of: Answer, Words: "no text, link or image", Remedy: "Mosey runs no scripts, so that it sees less than a browser",
	},
	MediaType: {Of: Answer, Words: "files of types that Mosey does not read", Remedy: "mosey page URL shows the type"},
	Malformed: {Of: Answer, Words: "files that could not be parsed", Remedy: "mosey page URL shows the error"},
	Reserved:  {Of: Answer, Words: "their publishers forbid the purpose of the run", Remedy: "mosey why URL shows the rule"},
}
