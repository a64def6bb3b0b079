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
	Domain:     {Of: Slot, Words: "the delay that a person has set for it is not over"},
	CrawlDelay: {Of: Slot, Words: "the Crawl-delay of its robots.txt is not over"},
	RetryAfter: {Of: Slot, Words: "its server asked for a wait (RFC 9110 §10.2.3)", Status: StatusWaiting, Defers: true},
	Backoff:    {Of: Slot, Words: "its last requests failed", Status: StatusWaiting, Defers: true},
	Latency:    {Of: Slot, Words: "its last answer took long"},
	Slowdown:   {Of: Slot, Words: "its answers take longer than they did"},
	Graylist:   {Of: Slot, Words: "its answers were mostly errors or slow", Status: StatusGraylisted},
	InFlight:   {Of: Slot, Words: "a request may still be in flight", HoldsRun: true},
	IP:         {Of: SharedSlot, Words: "another domain has the same address"},
	Subnet:     {Of: SharedSlot, Words: "another domain is in the same subnet"},
	Registered: {Of: SharedSlot, Words: "another host belongs to the same registered domain"},
	Robots:     {Of: Slot, Words: "its robots.txt could not be fetched", Status: StatusWaiting, Defers: true},

	// Reasons for not requesting a domain.
	Window:    {Of: Site, Words: "its window is closed", Rank: 6, Status: StatusWaiting, EndsWithNews: true, HoldsRun: true},
	Scheduled: {Of: Site, Words: "its pages are not due yet", Status: StatusWaiting, EndsWithNews: true, Defers: true},
	Yields:    {Of: Site, Words: "it makes room for others that wait"},
	Deferred:  {Of: Site, Words: "its server asked for that, or it could not be reached", Rank: 5, Status: StatusDeferred},
	Paused:    {Of: Site, Words: "a person has paused it", Control: "pause", Rank: 4, Status: StatusPaused, HoldsRun: true},
	Stopped:   {Of: Site, Words: "a person has stopped it", Control: "stop", Rank: 3, Status: StatusPaused},
	Blocked:   {Of: Site, Words: "a person has blocked it", Control: "block", Rank: 2, Status: StatusPaused},
	Listed:    {Of: Site, Words: "a list keeps it from being crawled", Rank: 1},
	Budget:    {Of: Site, Words: "the budget for it is spent"},

	// Reasons for skipping a page.
	Fresh: {
		Of: Page, Words: "their servers said that they stay as they are", Remedy: "mosey why URL tells until when", Known: true,
	},
	MinRefetch: {
		Of: Page, Words: "fetched lately", Remedy: "--set min_refetch=0s fetches them all the same", Known: true,
	},
	Trap: {
		Of: Page, Words: "parts of endless spaces", Remedy: "mosey why URL tells which, and a page that is seeded is fetched all the same",
		Again: []Event{SeedGiven, TrapsReset},
	},
	Excluded: {
		Of: Page, Words: "the run's --include and --exclude leave them out", Remedy: "to give other ones decides again",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven},
	},
	Extension: {
		Of: Page, Words: "their names say that they cannot be read", Remedy: "--set skip=variants fetches them all the same",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven, ImageFound},
	},
	Variant: {
		Of: Page, Words: "known variants of other pages", Remedy: "--set skip=extensions fetches them all the same",
		Unwanted: true, Again: []Event{SettingsChanged, SeedGiven},
	},
	Scheme: {
		Of: Page, Words: "https cannot be reached, and http is asked instead", Remedy: "a seed that says https:// is not asked by http",
		Unwanted: true, Again: []Event{LinkFound},
	},
	Ports: {
		Of: Page, Words: "on too many ports of one host", Remedy: "a page that is seeded is fetched all the same",
		Unwanted: true, Again: []Event{SeedGiven},
	},
	ImageBudget: {
		Of: Image, Words: "over the budget of their domain", Remedy: "a larger max_images_per_domain fetches them",
		Again: []Event{SettingsChanged},
	},
	ImagesOff: {
		Of: Image, Words: "the run does not fetch them any more", Remedy: "--images metadata does", Again: []Event{SettingsChanged},
	},
	Forgotten: {
		Of: Image, Words: "only pages that were forgotten name them", Remedy: "mosey unblock has these read anew",
		Again: []Event{ImageFound},
	},

	// Reasons for an attempt that was not made, or does not count.
	Stale:     {Of: Attempt, Words: "another worker has it, its run has stopped, or a budget is spent"},
	TakenBack: {Of: Attempt, Words: "trouble of our own ended it"},
	NotMade:   {Of: Attempt, Words: "trouble of our own came before the request"},

	// Reasons for an empty answer below 400. The error of its attempt has the details.
	NoTarget: {Of: Answer, Words: "redirects to no other page", Remedy: "mosey page URL names their targets"},
	Empty: {
		Of: Answer, Words: "no text, link or image", Remedy: "Mosey runs no scripts, which may draw the page in a browser",
	},
	MediaType: {Of: Answer, Words: "files of types that Mosey does not read", Remedy: "mosey page URL names the type"},
	Malformed: {Of: Answer, Words: "files that could not be parsed", Remedy: "mosey page URL names the error"},
	Reserved:  {Of: Answer, Words: "their publishers forbid the purpose of the run", Remedy: "mosey why URL names the rule"},
}
