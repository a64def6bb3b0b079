package settings

// Settings holds the settings of a run. A nil field is not set: a new run gets its default, and a
// changed run keeps the stored value.
//
// A field's tags declare the setting:
//
//   - json: its name
//   - group: the part of docs/settings.md that lists it
//   - flag: mosey crawl has a flag for it
//   - default: in the form that people write, or of the flag of [Settings.WithDefaults]
//   - min and max: its bounds, as people write them; without max the type is the bound
//   - values: the allowed values, the elements of a list
//   - word: a word for one value beside the bounds, such as auto:0
//   - check: an additional check, by its name in checks
//   - unit: the unit of a number
//   - help: one or two sentences, without the default
type Settings struct {
	Delay           *Duration `json:"delay,omitempty" group:"politeness" flag:"" default:"10s" min:"0s" max:"8760h" help:"Minimum time between two requests to a domain. robots.txt can raise it."`
	IPDelay         *Duration `json:"ip_delay,omitempty" group:"politeness" default:"1s" min:"0s" max:"8760h" help:"Minimum time between two requests to an IP address, for all its domains together; 0s is off."`
	SubnetDelay     *Duration `json:"subnet_delay,omitempty" group:"politeness" default:"0s" min:"0s" max:"8760h" help:"Minimum time between two requests to a subnet (/24, /48); 0s is off."`
	GroupBy         *GroupBy  `json:"group_by,omitempty" group:"politeness" default:"host" values:"host,registered-domain" help:"Hosts that share a delay: each host alone, or all hosts of a registered domain together."`
	Window          *string   `json:"window,omitempty" group:"politeness" flag:"" default:"" check:"window" help:"Times to crawl, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; several with commas. Empty is always."`
	LatencyFactor   *float64  `json:"latency_factor,omitempty" group:"politeness" default:"5" min:"0" max:"1000" help:"Minimum wait after a request, as a multiple of its response time; 0 is off."`
	DeferAfter      *Duration `json:"defer_after,omitempty" group:"politeness" default:"1h" min:"0s" max:"8760h" help:"Maximum Retry-After of a server; after longer waits its domain is deferred."`
	Graylist        *Duration `json:"graylist,omitempty" group:"politeness" default:"5m" min:"0s" max:"8760h" help:"Pause of a domain whose responses are mostly errors or slow; it grows up to threefold. 0s is off."`
	MaxGraylistings *int      `json:"max_graylistings,omitempty" group:"politeness" default:"5" min:"1" max:"1000" help:"Maximum consecutive pauses of a domain; afterwards it is abandoned for a while."`
	Purpose         *Purpose  `json:"purpose,omitempty" group:"politeness" flag:"" default:"search" values:"search,ai-train,archive" help:"Purpose of the crawl. Mosey skips uses that publishers forbid for this purpose."`

	Scope       *Scope    `json:"scope,omitempty" group:"pages" flag:"" default:"seeds" values:"seeds,web" help:"Pages to crawl: pages of the seeds' domains (seeds), or all linked pages (web)."`
	MaxDepth    *int      `json:"max_depth,omitempty" group:"pages" flag:"" default:"-1" min:"-1" max:"32767" unit:"links" help:"Maximum number of links between a seed and a page; 0 is seeds only, -1 is no limit. Redirects do not count."`
	Include     *[]string `json:"include,omitempty" group:"pages" flag:"" default:"none" check:"patterns" help:"Patterns of the URLs to request, besides seeds; none is all URLs."`
	Exclude     *[]string `json:"exclude,omitempty" group:"pages" flag:"" default:"none" check:"patterns" help:"Patterns of URLs not to request, except seeds: the beginning of a path or a URL, with * and $ as in robots.txt."`
	Skip        *[]string `json:"skip,omitempty" group:"pages" default:"extensions,variants" values:"extensions,variants" help:"URLs not to request, except seeds: files that cannot be parsed, such as .jpg or .zip, and known variants of other pages, such as a wiki's histories."`
	Sitemaps    *bool     `json:"sitemaps,omitempty" group:"pages" default:"on" help:"Fetch the sitemaps of sites, and the pages they list."`
	Feeds       *bool     `json:"feeds,omitempty" group:"pages" default:"on" help:"Fetch the feeds of seeds and front pages, and prioritize the pages they list."`
	WhenDone    *WhenDone `json:"when_done,omitempty" group:"pages" flag:"" default:"end" values:"end,wait,recrawl" help:"Action when all pages are done: end the run, wait for new seeds, or recrawl pages, more often if they change often."`
	MinRefetch  *Duration `json:"min_refetch,omitempty" group:"pages" default:"24h" min:"0s" max:"8760h" help:"Skip pages that any run fetched within this time; 0s is off."`
	MaxAttempts *int      `json:"max_attempts,omitempty" group:"pages" default:"4" min:"1" max:"20" unit:"requests" help:"Maximum attempts for one page."`
	// as many as browsers follow (WHATWG Fetch); redirects keep their depth and so need a bound
	MaxRedirects *int `json:"max_redirects,omitempty" group:"pages" default:"20" min:"0" max:"100" unit:"redirects" help:"Maximum number of consecutive redirects to follow."`

	MaxPages              *int64    `json:"max_pages,omitempty" group:"limits" flag:"" default:"-1" min:"-1" unit:"requests" help:"Maximum page requests of the run, including retries; -1 is no limit."`
	MaxPagesPerDomain     *int64    `json:"max_pages_per_domain,omitempty" group:"limits" flag:"" default:"-1" min:"-1" unit:"requests" help:"Maximum page requests to each domain, including retries; -1 is no limit."`
	MaxPagesPerRegistered *int64    `json:"max_pages_per_registered_domain,omitempty" group:"limits" default:"-1" min:"-1" unit:"requests" help:"Maximum page requests to all domains of a registered domain together, such as a.example.org and b.example.org; -1 is no limit."`
	MaxSubdomains         *int      `json:"max_subdomains,omitempty" group:"limits" default:"1000" min:"-1" max:"2147483647" unit:"domains" help:"Maximum domains of one registered domain to follow links to; seeds are not limited. -1 is no limit."`
	MaxBytes              *int64    `json:"max_bytes,omitempty" group:"limits" default:"-1" min:"-1" unit:"bytes" help:"Maximum bytes of response bodies in the run; requests in flight still finish. -1 is no limit."`
	MaxBytesPerDomain     *int64    `json:"max_bytes_per_domain,omitempty" group:"limits" default:"-1" min:"-1" unit:"bytes" help:"Maximum bytes of response bodies from each domain; -1 is no limit."`
	MaxTime               *Duration `json:"max_time,omitempty" group:"limits" flag:"" default:"0s" min:"0s" max:"8760h" help:"Time after the start of the run during which it begins requests; 0s is no limit."`

	Images             *Images     `json:"images,omitempty" group:"images" flag:"" default:"off" values:"off,metadata,store" help:"Images of pages: ignore them (off), fetch them for their fingerprints (metadata), or also store their bytes (store)."`
	ImageScope         *ImageScope `json:"image_scope,omitempty" group:"images" default:"any" values:"seeds,any" help:"Hosts to request images from: hosts of the seeds' domains (seeds), or all hosts (any)."`
	ImageMinSize       *int        `json:"image_min_size,omitempty" group:"images" default:"100" min:"1" max:"10000" unit:"pixels" help:"Minimum width and height of recorded images."`
	MaxImagesPerPage   *int        `json:"max_images_per_page,omitempty" group:"images" default:"50" min:"0" max:"200" unit:"images" help:"Maximum images to fetch from one page."`
	MaxImagesPerDomain *int64      `json:"max_images_per_domain,omitempty" group:"images" default:"-1" min:"-1" unit:"requests" help:"Maximum image requests to each domain, including retries; -1 is no limit."`
	Thumbnails         *bool       `json:"thumbnails,omitempty" group:"images" default:"off" help:"Also store a thumbnail of each image."`

	MaxDomains       *int   `json:"max_active_domains,omitempty" group:"order" default:"1000" min:"1" max:"1000000" unit:"domains" help:"Maximum domains crawled at the same time."`
	YieldAfter       *int64 `json:"yield_after,omitempty" group:"order" default:"500" min:"0" unit:"requests" help:"Number of requests after which a domain yields to waiting domains; 0 is never."`
	PagesPerActivity *int   `json:"pages_per_activity,omitempty" group:"order" expert:"" default:"auto" word:"auto:0" min:"1" max:"1000" unit:"pages" help:"Maximum pages of one Temporal activity; auto is one while Temporal is not overloaded and the delay is long, else more."`

	// unknown is a field of the JSON without a setting.
	unknown string
}
