package reasons

// Reason is the rule that decided a wait or a skip, or left a response unread. The values are
// stored with slots, domains and crawls, and shown to operators.
type Reason string

// The reasons. The table has their meanings.
const (
	Delay          Reason = "delay"
	Domain         Reason = "domain delay"
	CrawlDelay     Reason = "crawl-delay"
	RetryAfter     Reason = "retry-after"
	Backoff        Reason = "back-off"
	Latency        Reason = "latency"
	Slowdown       Reason = "slowdown"
	Graylist       Reason = "graylisted"
	InFlight       Reason = "in flight"
	IP             Reason = "ip"
	Subnet         Reason = "subnet"
	Registered     Reason = "registered"
	Robots         Reason = "robots.txt unreachable"
	Window         Reason = "window"
	Scheduled      Reason = "scheduled"
	Yields         Reason = "yielded"
	Deferred       Reason = "deferred"
	Paused         Reason = "paused"
	Stopped        Reason = "stopped"
	Blocked        Reason = "blocked"
	Listed         Reason = "listed"
	Budget         Reason = "budget"
	Fresh          Reason = "fresh"
	MinRefetch     Reason = "min-refetch"
	Trap           Reason = "trap"
	Excluded       Reason = "excluded"
	Extension      Reason = "extension"
	Variant        Reason = "variant"
	Scheme         Reason = "scheme"
	Ports          Reason = "ports"
	ImageBudget    Reason = "image-budget"
	ImagesOff      Reason = "images-off"
	Forgotten      Reason = "forgotten"
	Stale          Reason = "not pending"
	Undone         Reason = "undone"
	NotMade        Reason = "not requested"
	NoTarget       Reason = "no target"
	Empty          Reason = "empty"
	MediaType      Reason = "media type"
	Malformed      Reason = "malformed"
	Reserved       Reason = "reserved"
	NeedsScript    Reason = "needs JavaScript"
	Parked         Reason = "parked"
	DefaultPage    Reason = "default page"
	SoftNotFound   Reason = "soft 404"
	WallAkamai     Reason = "wall: Akamai"
	WallAnubis     Reason = "wall: Anubis"
	WallAWS        Reason = "wall: AWS WAF"
	WallCaptcha    Reason = "wall: captcha"
	WallCloudflare Reason = "wall: Cloudflare"
	WallDataDome   Reason = "wall: DataDome"
	WallFastly     Reason = "wall: Fastly"
	WallHUMAN      Reason = "wall: HUMAN"
	WallImperva    Reason = "wall: Imperva"
	WallKasada     Reason = "wall: Kasada"
	WallSucuri     Reason = "wall: Sucuri"
	WallVercel     Reason = "wall: Vercel"
)

var table = map[Reason]Row{
	// Reasons for a closed slot.
	Delay:      {Subject: Slot, Explanation: "the run's delay is not over"},
	Domain:     {Subject: Slot, Explanation: "the delay that an operator set for the domain is not over"},
	CrawlDelay: {Subject: Slot, Explanation: "the Crawl-delay of robots.txt is not over"},
	RetryAfter: {Subject: Slot, Explanation: "the server sent Retry-After (RFC 9110 §10.2.3)", Status: StatusWaiting, Defers: true},
	Backoff:    {Subject: Slot, Explanation: "the last requests failed", Status: StatusWaiting, Defers: true},
	Latency:    {Subject: Slot, Explanation: "the last response was slow"},
	Slowdown:   {Subject: Slot, Explanation: "responses have become slower"},
	Graylist:   {Subject: Slot, Explanation: "most responses were errors or slow", Status: StatusGraylisted},
	InFlight:   {Subject: Slot, Explanation: "a request may still be in flight", HoldsRun: true},
	IP:         {Subject: SharedSlot, Explanation: "another domain has the same address"},
	Subnet:     {Subject: SharedSlot, Explanation: "another domain is in the same subnet"},
	Registered: {Subject: SharedSlot, Explanation: "another host belongs to the same registered domain"},
	Robots:     {Subject: Slot, Explanation: "robots.txt could not be fetched", Status: StatusWaiting, Defers: true},

	// Reasons for not requesting a domain.
	Window: {
		Subject: Site, Explanation: "the request window is closed", Rank: 6, Status: StatusWaiting, EndsOnNewWork: true,
		HoldsRun: true,
	},
	Scheduled: {Subject: Site, Explanation: "no page is due yet", Status: StatusWaiting, EndsOnNewWork: true, Defers: true},
	Yields:    {Subject: Site, Explanation: "the domain yields to waiting domains"},
	Deferred:  {Subject: Site, Explanation: "the server sent a long Retry-After, or was unreachable", Rank: 5, Status: StatusDeferred},
	Paused:    {Subject: Site, Explanation: "an operator paused the domain", Control: "pause", Rank: 4, Status: StatusPaused, HoldsRun: true},
	Stopped:   {Subject: Site, Explanation: "an operator stopped the domain", Control: "stop", Rank: 3, Status: StatusPaused},
	Blocked:   {Subject: Site, Explanation: "an operator blocked the domain", Control: "block", Rank: 2, Status: StatusPaused},
	Listed:    {Subject: Site, Explanation: "a list excludes the domain", Rank: 1},
	Budget:    {Subject: Site, Explanation: "the domain has reached its limit"},

	// Reasons for skipping a page.
	Fresh: {
		Subject: Page, Explanation: "their last responses are still fresh", Remedy: "mosey why URL shows until when", StateKnown: true,
	},
	MinRefetch: {
		Subject: Page, Explanation: "fetched recently", Remedy: "--set min_refetch=0s fetches them anyway", StateKnown: true,
	},
	Trap: {
		Subject: Page, Explanation: "probable crawler traps", Remedy: "mosey why URL shows the evidence; a seeded page is fetched anyway",
		RetryEvents: []Event{SeedGiven, TrapsReset},
	},
	Excluded: {
		Subject: Page, Explanation: "excluded by --include or --exclude of the run", Remedy: "other patterns reconsider them",
		Unwanted: true, RetryEvents: []Event{SettingsChanged, SeedGiven},
	},
	Extension: {
		Subject: Page, Explanation: "their file name extensions are not parsable", Remedy: "--set skip=variants fetches them anyway",
		Unwanted: true, RetryEvents: []Event{SettingsChanged, SeedGiven, ImageFound},
	},
	Variant: {
		Subject: Page, Explanation: "known variants of other pages", Remedy: "--set skip=extensions fetches them anyway",
		Unwanted: true, RetryEvents: []Event{SettingsChanged, SeedGiven},
	},
	Scheme: {
		Subject: Page, Explanation: "https is unreachable, so that http is requested instead",
		Remedy:   "a seed with https:// is never requested over http",
		Unwanted: true, RetryEvents: []Event{LinkFound},
	},
	Ports: {
		Subject: Page, Explanation: "on too many ports of one host", Remedy: "a seeded page is fetched anyway",
		Unwanted: true, RetryEvents: []Event{SeedGiven},
	},
	ImageBudget: {
		Subject: Image, Explanation: "over the image budget of their domain", Remedy: "raise max_images_per_domain to fetch them",
		RetryEvents: []Event{SettingsChanged},
	},
	ImagesOff: {
		Subject: Image, Explanation: "the run no longer fetches images", Remedy: "--images metadata fetches them",
		RetryEvents: []Event{SettingsChanged},
	},
	Forgotten: {
		Subject: Image, Explanation: "named only by forgotten pages", Remedy: "mosey unblock rereads these pages",
		RetryEvents: []Event{ImageFound},
	},

	// Reasons for an attempt that was not made, or does not count.
	Stale:   {Subject: Attempt, Explanation: "another worker has the page, the run has stopped, or a budget is spent"},
	Undone:  {Subject: Attempt, Explanation: "an internal failure interrupted it"},
	NotMade: {Subject: Attempt, Explanation: "an internal failure prevented the request"},

	// Reasons for an empty response below 400. The error of its attempt has the details.
	NoTarget: {Subject: Response, Explanation: "redirects without a new target", Remedy: "mosey page URL shows their targets"},
	Empty: {
		Subject: Response, Explanation: "no text, link or image", Remedy: "Mosey runs no scripts, so that it sees less than a browser",
	},
	MediaType: {Subject: Response, Explanation: "files of types that Mosey does not read", Remedy: "mosey page URL shows the type"},
	Malformed: {Subject: Response, Explanation: "files that could not be parsed", Remedy: "mosey page URL shows the error"},
	Reserved:  {Subject: Response, Explanation: "their publishers forbid the purpose of the run", Remedy: "mosey why URL shows the rule"},
	NeedsScript: {
		Subject: Response, Explanation: "they only ask for JavaScript", Remedy: "Mosey runs no scripts; use the site's feeds or API",
	},

	// Placeholders: a page in place of a site. See package placeholders.
	Parked: {
		Subject: Response, Explanation: "their domain is parked or for sale", Remedy: "mosey page URL shows the evidence",
		IsPlaceholder: true,
	},
	DefaultPage: {
		Subject: Response, Explanation: "they are default pages of a server", Remedy: "mosey page URL shows the evidence",
		IsPlaceholder: true,
	},
	SoftNotFound: {
		Subject: Response, Explanation: "their site sends the same for a page that does not exist", Remedy: "mosey page URL shows the evidence",
		IsPlaceholder: true,
	},

	// Walls: a protection against bots answers in place of the site. See package walls.
	WallAkamai:     wall("Akamai"),
	WallAnubis:     wall("Anubis"),
	WallAWS:        wall("AWS WAF"),
	WallCloudflare: wall("Cloudflare"),
	WallDataDome:   wall("DataDome"),
	WallFastly:     wall("Fastly"),
	WallHUMAN:      wall("HUMAN"),
	WallImperva:    wall("Imperva"),
	WallKasada:     wall("Kasada"),
	WallSucuri:     wall("Sucuri"),
	WallVercel:     wall("Vercel"),
	WallCaptcha:    {Subject: Response, IsWall: true, Explanation: "the site asks for a captcha", Remedy: wallRemedy},
}

const wallRemedy = "mosey identity prints the rules by which its owner can allow you"

func wall(product string) Row {
	return Row{Subject: Response, IsWall: true, Explanation: product + " answered in place of the site", Remedy: wallRemedy}
}
