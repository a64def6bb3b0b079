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
	Delay           *Duration `json:"delay,omitempty" group:"politeness" flag:"" default:"10s" min:"0s" max:"8760h" help:"Least time between two requests to a domain. robots.txt can make it longer."`
	IPDelay         *Duration `json:"ip_delay,omitempty" group:"politeness" default:"1s" min:"0s" max:"8760h" help:"Least time between two requests to an IP address, for all its domains together; 0s is off."`
	SubnetDelay     *Duration `json:"subnet_delay,omitempty" group:"politeness" default:"0s" min:"0s" max:"8760h" help:"Least time between two requests to a subnet (/24, /48); 0s is off."`
	GroupBy         *GroupBy  `json:"group_by,omitempty" group:"politeness" default:"host" values:"host,registered-domain" help:"What the delay is kept for: each host, or all hosts of a registered domain together."`
	Window          *string   `json:"window,omitempty" group:"politeness" flag:"" default:"" check:"window" help:"When to crawl, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; several with commas. Empty is always."`
	LatencyFactor   *float64  `json:"latency_factor,omitempty" group:"politeness" default:"5" min:"0" max:"1000" help:"Leave a domain alone at least so many times as long as its answer took; 0 is off."`
	DeferAfter      *Duration `json:"defer_after,omitempty" group:"politeness" default:"1h" min:"0s" max:"8760h" help:"Longest wait a server can ask for before its domain is deferred."`
	Graylist        *Duration `json:"graylist,omitempty" group:"politeness" default:"5m" min:"0s" max:"8760h" help:"Rest of a domain whose answers are mostly errors or slow; it grows up to three times as long. 0s is off."`
	MaxGraylistings *int      `json:"max_graylistings,omitempty" group:"politeness" default:"5" min:"1" max:"1000" help:"Rests in a row after which a domain is given up for a while."`
	Purpose         *Purpose  `json:"purpose,omitempty" group:"politeness" flag:"" default:"search" values:"search,ai-train,archive" help:"What the crawl is for. What a publisher forbids for it is not done."`

	Scope       *Scope    `json:"scope,omitempty" group:"pages" flag:"" default:"seeds" values:"seeds,web" help:"Pages to crawl: those of the seeds' domains, or all that links lead to."`
	MaxDepth    *int      `json:"max_depth,omitempty" group:"pages" flag:"" default:"-1" min:"-1" max:"32767" unit:"links" help:"Links between a seed and a page; 0 is seeds only, -1 is no limit. Redirects are not counted."`
	Include     *[]string `json:"include,omitempty" group:"pages" flag:"" default:"none" check:"patterns" help:"Request only URLs like these, and seeds."`
	Exclude     *[]string `json:"exclude,omitempty" group:"pages" flag:"" default:"none" check:"patterns" help:"URLs not to request, unless they are seeds: the beginning of a path or a URL, * is anything, $ the end, as in robots.txt."`
	Skip        *[]string `json:"skip,omitempty" group:"pages" default:"extensions,variants" values:"extensions,variants" help:"URLs not to request, unless they are seeds: files that cannot be parsed, such as .jpg or .zip, and known variants of other pages, such as a wiki's histories."`
	Sitemaps    *bool     `json:"sitemaps,omitempty" group:"pages" default:"on" help:"Fetch the sitemaps that sites name, or have, and the pages they list."`
	Feeds       *bool     `json:"feeds,omitempty" group:"pages" default:"on" help:"Fetch the feeds that seeds and front pages name, and the pages they list first."`
	WhenDone    *WhenDone `json:"when_done,omitempty" group:"pages" flag:"" default:"end" values:"end,wait,recrawl" help:"When nothing is left to request: end the run, wait for new seeds, or ask for pages again, the sooner the more often they change."`
	MinRefetch  *Duration `json:"min_refetch,omitempty" group:"pages" default:"24h" min:"0s" max:"8760h" help:"Skip pages fetched so lately, by whichever run; 0s is off."`
	MaxAttempts *int      `json:"max_attempts,omitempty" group:"pages" default:"4" min:"1" max:"20" unit:"requests" help:"How often one page is tried before it has failed."`
	// as many as browsers follow (WHATWG Fetch); redirects keep their depth and so need a bound
	MaxRedirects *int `json:"max_redirects,omitempty" group:"pages" default:"20" min:"0" max:"100" unit:"redirects" help:"Redirects in a row that are followed."`

	MaxPages              *int64    `json:"max_pages,omitempty" group:"limits" flag:"" default:"-1" min:"-1" unit:"requests" help:"Page requests in all, retries included; -1 is no limit."`
	MaxPagesPerDomain     *int64    `json:"max_pages_per_domain,omitempty" group:"limits" flag:"" default:"-1" min:"-1" unit:"requests" help:"Page requests to each domain, retries included; -1 is no limit."`
	MaxPagesPerRegistered *int64    `json:"max_pages_per_registered_domain,omitempty" group:"limits" default:"-1" min:"-1" unit:"requests" help:"Page requests to all domains of a registered domain together, such as a.example.org and b.example.org; -1 is no limit."`
	MaxSubdomains         *int      `json:"max_subdomains,omitempty" group:"limits" default:"1000" min:"-1" max:"2147483647" unit:"domains" help:"Domains of one registered domain to follow links to; seeds are not limited. -1 is no limit."`
	MaxBytes              *int64    `json:"max_bytes,omitempty" group:"limits" default:"-1" min:"-1" unit:"bytes" help:"Bytes of bodies to read in all, about: what is in flight is finished. -1 is no limit."`
	MaxBytesPerDomain     *int64    `json:"max_bytes_per_domain,omitempty" group:"limits" default:"-1" min:"-1" unit:"bytes" help:"Bytes of bodies to read from each domain; -1 is no limit."`
	MaxTime               *Duration `json:"max_time,omitempty" group:"limits" flag:"" default:"0s" min:"0s" max:"8760h" help:"How long after its start the run may begin requests; 0s is no limit."`

	Images             *Images     `json:"images,omitempty" group:"images" flag:"" default:"off" values:"off,metadata,store" help:"Images of pages: leave them alone, fetch them for their fingerprints, or also keep their bytes."`
	ImageScope         *ImageScope `json:"image_scope,omitempty" group:"images" default:"any" values:"seeds,any" help:"Hosts to ask for images: those of the seeds' domains, or any that a page has an image from."`
	ImageMinSize       *int        `json:"image_min_size,omitempty" group:"images" default:"100" min:"1" max:"10000" unit:"pixels" help:"Width and height that an image needs to be recorded: one that is smaller in either is left out."`
	MaxImagesPerPage   *int        `json:"max_images_per_page,omitempty" group:"images" default:"50" min:"0" max:"200" unit:"images" help:"Images to take from one page."`
	MaxImagesPerDomain *int64      `json:"max_images_per_domain,omitempty" group:"images" default:"-1" min:"-1" unit:"requests" help:"Image requests to each domain, retries included; -1 is no limit."`
	Thumbnails         *bool       `json:"thumbnails,omitempty" group:"images" default:"off" help:"Also keep a small picture of each image."`

	MaxDomains       *int   `json:"max_active_domains,omitempty" group:"order" default:"1000" min:"1" max:"1000000" unit:"domains" help:"Domains crawled at the same time."`
	YieldAfter       *int64 `json:"yield_after,omitempty" group:"order" default:"500" min:"0" unit:"requests" help:"Requests after which a domain makes room for others that wait; 0 is never."`
	PagesPerActivity *int   `json:"pages_per_activity,omitempty" group:"order" expert:"" default:"auto" word:"auto:0" min:"1" max:"1000" unit:"pages" help:"Pages one Temporal activity may fetch; auto is one while Temporal is at ease and there is a delay to wait for, else more."`

	// unknown is a field of the JSON without a setting.
	unknown string
}
