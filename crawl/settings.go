package crawl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Scope says which discovered pages a run crawls.
type Scope string

// The scopes a run can have.
const (
	// ScopeSeeds stays on the domains that were seeded.
	ScopeSeeds Scope = "seeds"
	// ScopeWeb goes wherever links lead.
	ScopeWeb Scope = "web"
)

// GroupBy says which domains are asked as one.
type GroupBy string

// How a run may group domains.
const (
	// GroupByHost asks each host by itself.
	GroupByHost GroupBy = "host"
	// GroupByRegistered keeps the run's delay between any two requests to hosts of one
	// registered domain.
	GroupByRegistered GroupBy = "registered-domain"
)

// Purpose is what a crawl is for. Publishers allow and forbid by it.
type Purpose string

// The purposes a run can have.
const (
	// PurposeSearch is to find pages, as by links and titles.
	PurposeSearch Purpose = "search"
	// PurposeAITrain is to train or tune models.
	PurposeAITrain Purpose = "ai-train"
	// PurposeArchive is to keep copies.
	PurposeArchive Purpose = "archive"
)

// Unlimited, as a budget or a depth, sets no limit.
const Unlimited = -1

// Duration is a time.Duration that JSON writes as text ("10s", "1h30m").
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads text such as "10s".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%w: duration %s: want text such as \"10s\"", ErrInvalid, data)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%w: duration %q: want a number and a unit, such as 10s or 1h30m", ErrInvalid, s)
	}
	*d = Duration(v)
	return nil
}

// String is the duration as text.
func (d Duration) String() string { return time.Duration(d).String() }

// TakesImages reports whether the settings, all of which are set, have images fetched.
func (s Settings) TakesImages() bool { return *s.Images != ImagesOff }

// Settings is how a run crawls. A nil field is not set: creating a run fills it
// with its default, updating a run leaves what is stored.
type Settings struct {
	// BlockOnLogin counts a login page in place of a page as a refusal, such as a
	// 403, for the circuit breaker. Defaults to true.
	BlockOnLogin *bool `json:"block_on_login,omitempty"`
	// Delay is the least time between two requests to a domain. robots.txt can
	// lengthen it, never shorten it. Defaults to 10 s.
	Delay *Duration `json:"delay,omitempty"`
	// IPDelay is the least time between two requests to an IP address, for all its
	// domains together. 0 is off. Defaults to 1 s.
	IPDelay *Duration `json:"ip_delay,omitempty"`
	// DeferAfter is the longest wait that a domain's workflow sleeps through if a
	// server asks for it: for a longer one the domain is deferred, and the workflow
	// ends until then. Defaults to 1 h.
	DeferAfter *Duration `json:"defer_after,omitempty"`
	// Images is what is done about the images of pages. Defaults to ImagesOff.
	Images *Images `json:"images,omitempty"`
	// ImageScope says which hosts are asked for them. Defaults to ImageScopeAny.
	ImageScope *ImageScope `json:"image_scope,omitempty"`
	// ImageMinWidth and ImageMinHeight are how large a picture must be at least to be
	// recorded, in pixels, from 1. Both default to 100.
	ImageMinWidth  *int `json:"image_min_width,omitempty"`
	ImageMinHeight *int `json:"image_min_height,omitempty"`
	// MaxImagesPerDomain is how many requests for images the run may make to each domain,
	// retries included, and MaxImagesPerPage how many images are taken from one page. -1 is
	// no limit of the former; the latter is 0 to ImagesPerPageMax. They default to -1 and 50.
	MaxImagesPerDomain *int64 `json:"max_images_per_domain,omitempty"`
	MaxImagesPerPage   *int   `json:"max_images_per_page,omitempty"`
	// Thumbnails also keeps a small picture of each image. Defaults to false.
	Thumbnails *bool `json:"thumbnails,omitempty"`
	// Exclude are patterns of URLs that are not requested, and Include those of which a
	// URL must match one, unless there are none; see variants.Match. Seeds are requested
	// whatever they say. At most PatternsMax each. Default to none.
	Exclude *[]string `json:"exclude,omitempty"`
	Include *[]string `json:"include,omitempty"`
	// Favicons also fetches the icons that pages name for their site. Defaults to
	// false.
	Favicons *bool `json:"favicons,omitempty"`
	// Feeds and Sitemaps also fetch the feeds that seeds and front pages name, and the
	// sitemaps that their sites name, for the pages these list. Both default to true.
	Feeds    *bool `json:"feeds,omitempty"`
	Sitemaps *bool `json:"sitemaps,omitempty"`
	// GroupBy says which domains the delay is for. Defaults to GroupByHost.
	GroupBy *GroupBy `json:"group_by,omitempty"`
	// Graylist is how long the circuit breaker leaves a domain alone whose answers
	// are mostly errors or take too long; it grows up to three times as long. 0
	// turns the breaker off. Defaults to 5 min.
	Graylist *Duration `json:"graylist,omitempty"`
	// LatencyFactor is how many times as long as its answer took a domain is left
	// alone at least. 0 is off. Defaults to 5.
	LatencyFactor *float64 `json:"latency_factor,omitempty"`
	// MaxGraylistings is after how many graylistings in a row a domain is given up for
	// a while, from 1. Defaults to 5.
	MaxGraylistings *int `json:"max_graylistings,omitempty"`
	// SubnetDelay is the least time between two requests to a subnet (/24, /48), for
	// all its domains together. 0, the default, is off.
	SubnetDelay *Duration `json:"subnet_delay,omitempty"`
	// MaxAttempts is how often one page is tried before it has failed, from 1 to 20.
	// Defaults to 4.
	MaxAttempts *int `json:"max_attempts,omitempty"`
	// MaxDepth is the number of links between a seed and a page; 0 is seeds only,
	// -1 no limit. Redirects are not counted. Defaults to -1.
	MaxDepth *int `json:"max_depth,omitempty"`
	// MaxDomains is the number of domains crawled at the same time, from 1. Defaults
	// to 1,000.
	MaxDomains *int `json:"max_active_domains,omitempty"`
	// MaxPages is how many requests for pages the run may make, retries included;
	// -1 is no limit. Defaults to -1.
	MaxPages *int64 `json:"max_pages,omitempty"`
	// MaxPagesPerDomain is the same for each domain. Defaults to -1.
	MaxPagesPerDomain *int64 `json:"max_pages_per_domain,omitempty"`
	// MaxPagesPerRegistered is the same for all domains of one registered domain together.
	// Defaults to -1.
	MaxPagesPerRegistered *int64 `json:"max_pages_per_registered_domain,omitempty"`
	// MaxPagesPerDepth is the same for the pages of a domain that are so many links from a
	// seed, for each number of links from 1 to DepthsMax; more are counted as DepthsMax.
	// Seeds are not counted. What is over it is skipped. Defaults to -1.
	MaxPagesPerDepth *int64 `json:"max_pages_per_depth,omitempty"`
	// BudgetGrowth is by how much the budget of pages of a domain grows whenever it is
	// spent, if the domain is good: at least half of its last requests have brought
	// something new, and at most a tenth have failed. It grows GrowthsMax times at the
	// most. 1, the default, is not at all.
	BudgetGrowth *float64 `json:"budget_growth,omitempty"`
	// MaxSubdomains is how many domains of one registered domain the run takes up that
	// are not the registered domain itself. Seeds are taken up whatever it says; links
	// to others are kept, and followed should it be raised. -1 is no limit. Defaults to
	// 1,000.
	MaxSubdomains *int `json:"max_subdomains,omitempty"`
	// MaxBytes is how much of bodies the run may read, about: what is in flight is finished.
	// MaxBytesPerDomain is the same for each domain. -1, the default of both, is no limit.
	MaxBytes          *int64 `json:"max_bytes,omitempty"`
	MaxBytesPerDomain *int64 `json:"max_bytes_per_domain,omitempty"`
	// MaxTime is how long after its start the run may begin requests; 0, the default, is no
	// limit.
	MaxTime *Duration `json:"max_time,omitempty"`
	// MaxRedirects is how many redirects in a row are followed, from 0. Redirects keep
	// their depth, so chains need a bound of their own. Defaults to 20, as browsers do
	// (WHATWG Fetch, HTTP-redirect fetch).
	MaxRedirects *int `json:"max_redirects,omitempty"`
	// MinRefetch is how lately a page may have been fetched, by whichever run, to be
	// skipped. 0 is off. Defaults to 24 h.
	MinRefetch *Duration `json:"min_refetch,omitempty"`
	// PagesPerActivity is how many pages one activity may fetch, from 1 to 1,000, or 0,
	// the default, for PagesPerActivityAuto. JSON may have it as "auto".
	PagesPerActivity *int `json:"pages_per_activity,omitempty"`
	// Recrawl asks for pages again, the sooner the more often they have changed; the run is a
	// standing one then. Defaults to false.
	Recrawl *bool `json:"recrawl,omitempty"`
	// PriorityWeights are how much each part of a domain's priority counts, by their names,
	// from 0: those of PriorityParts. Those left out count as domain_priority says.
	PriorityWeights *map[string]float64 `json:"priority_weights,omitempty"`
	// Purpose is what the crawl is for: what a publisher forbids for it is not done.
	// Defaults to PurposeSearch.
	Purpose *Purpose `json:"purpose,omitempty"`
	// Scope is which discovered pages are crawled. Defaults to ScopeSeeds.
	Scope *Scope `json:"scope,omitempty"`
	// SkipExtensions does not request pages whose URL ends as that of a file that cannot
	// be parsed does, and SkipKnownVariants not those that are other views of a page, as
	// common software has them; see package variants. Seeds are requested all the same.
	// Both default to true.
	SkipExtensions    *bool `json:"skip_extensions,omitempty"`
	SkipKnownVariants *bool `json:"skip_known_variants,omitempty"`
	// Standing keeps the run going when nothing is due. Defaults to false.
	Standing *bool `json:"standing,omitempty"`
	// Window is when pages may be asked for, as ParseWindows reads it. Empty, the
	// default, is always.
	Window *string `json:"window,omitempty"`
	// YieldAfter is after how many requests a domain makes room for others, where more are
	// due than may be active; 0 is never. Defaults to 500.
	YieldAfter *int64 `json:"yield_after,omitempty"`

	// unknown is a field of the JSON that there is no setting for.
	unknown string
}

// UnmarshalJSON reads settings. A field that is not known is kept in mind for
// Validate: a delay that was mistyped must not pass for the default, while a
// history that a later version wrote must still be readable.
func (s *Settings) UnmarshalJSON(data []byte) error {
	in := settingsJSON{plainSettings: plainSettings(*s)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Settings(in.plainSettings)
	if in.PagesPerActivity != nil {
		s.PagesPerActivity = (*int)(in.PagesPerActivity)
	}
	s.unknown = UnknownField[settingsJSON](data)
	return nil
}

// plainSettings are Settings as package json reads them by itself.
type plainSettings Settings

// settingsJSON has the fields that people may write otherwise.
type settingsJSON struct {
	plainSettings

	PagesPerActivity *Pages `json:"pages_per_activity"`
}

// UnknownField returns the first field in a JSON object that T, a struct, does
// not have; empty where there is none.
func UnknownField[T any](data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return strings.Trim(name, `"`)
		}
	}
	return ""
}

// The defaults and bounds of Settings.
const (
	DelayDefault           = 10 * time.Second
	IPDelayDefault         = time.Second
	MaxAttemptsDefault     = 4
	MaxAttemptsMax         = 20
	MaxDomainsDefault      = 1000
	MaxDomainsMax          = 1_000_000
	DeferAfterDefault      = time.Hour
	DelayMax               = 365 * 24 * time.Hour
	GraylistDefault        = 5 * time.Minute
	LatencyFactorDefault   = 5.0
	MinRefetchDefault      = 24 * time.Hour
	LatencyFactorMax       = 1000.0
	MaxGraylistingsDefault = 5
	MaxGraylistingsMax     = 1000
	MaxRedirectsDefault    = 20
	MaxRedirectsMax        = 100
	PatternsMax            = 100
	PatternMax             = 500
	PriorityWeightMax      = 1000.0
	YieldAfterDefault      = 500
	MaxSubdomainsDefault   = 1000
	BudgetGrowthMax        = 10.0
	GrowthsMax             = 10
	DepthsMax              = 50
	ImageMinDefault        = 100
	ImageMinMax            = 10_000
	ImagesPerPageDefault   = 50
	ImagesPerPageMax       = 200
)

// PriorityParts are what the priority of a domain is made of (db/functions/priorities.sql).
var PriorityParts = []string{"rank", "inlinks", "yield", "images", "remaining", "staleness", "errors"}

// WithDefaults returns a copy in which every field is set.
func (s Settings) WithDefaults() Settings {
	setDefault(&s.Delay, Duration(DelayDefault))
	setDefault(&s.IPDelay, Duration(IPDelayDefault))
	setDefault(&s.SubnetDelay, 0)
	setDefault(&s.Exclude, []string{})
	setDefault(&s.Include, []string{})
	setDefault(&s.Favicons, false)
	setDefault(&s.Feeds, true)
	setDefault(&s.Images, ImagesOff)
	setDefault(&s.ImageScope, ImageScopeAny)
	setDefault(&s.ImageMinWidth, ImageMinDefault)
	setDefault(&s.ImageMinHeight, ImageMinDefault)
	setDefault(&s.MaxImagesPerDomain, Unlimited)
	setDefault(&s.MaxImagesPerPage, ImagesPerPageDefault)
	setDefault(&s.Thumbnails, false)
	setDefault(&s.Sitemaps, true)
	setDefault(&s.SkipExtensions, true)
	setDefault(&s.SkipKnownVariants, true)
	setDefault(&s.Graylist, Duration(GraylistDefault))
	setDefault(&s.LatencyFactor, LatencyFactorDefault)
	setDefault(&s.MaxGraylistings, MaxGraylistingsDefault)
	setDefault(&s.MaxAttempts, MaxAttemptsDefault)
	setDefault(&s.MaxDepth, Unlimited)
	setDefault(&s.MaxDomains, MaxDomainsDefault)
	setDefault(&s.MaxPages, Unlimited)
	setDefault(&s.MaxPagesPerDomain, Unlimited)
	setDefault(&s.MaxPagesPerRegistered, Unlimited)
	setDefault(&s.MaxPagesPerDepth, Unlimited)
	setDefault(&s.BudgetGrowth, 1)
	setDefault(&s.MaxSubdomains, MaxSubdomainsDefault)
	setDefault(&s.GroupBy, GroupByHost)
	setDefault(&s.MaxBytes, Unlimited)
	setDefault(&s.MaxBytesPerDomain, Unlimited)
	setDefault(&s.MaxTime, 0)
	setDefault(&s.PriorityWeights, map[string]float64{})
	setDefault(&s.YieldAfter, YieldAfterDefault)
	setDefault(&s.MaxRedirects, MaxRedirectsDefault)
	setDefault(&s.MinRefetch, Duration(MinRefetchDefault))
	setDefault(&s.PagesPerActivity, PagesPerActivityAuto)
	setDefault(&s.DeferAfter, Duration(DeferAfterDefault))
	setDefault(&s.Purpose, PurposeSearch)
	setDefault(&s.BlockOnLogin, true)
	setDefault(&s.Recrawl, false)
	setDefault(&s.Scope, ScopeSeeds)
	setDefault(&s.Standing, false)
	setDefault(&s.Window, "")
	return s
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// RunNameMax is the longest name a run may have, in bytes.
const RunNameMax = 100

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidateRunName checks a run's name: letters, digits, dot, underscore and
// hyphen, starting with a letter or digit, at most RunNameMax bytes. It becomes
// part of workflow IDs and so must survive URLs and shells.
func ValidateRunName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: run: a name is needed, such as small-web", ErrInvalid)
	case len(name) > RunNameMax:
		return fmt.Errorf("%w: run %q: %d bytes long, at most %d allowed", ErrInvalid, name[:20]+"…", len(name), RunNameMax)
	case !runName.MatchString(name):
		return fmt.Errorf("%w: run %q: only letters, digits, '.', '_' and '-' are allowed, a letter or digit first", ErrInvalid, name)
	}
	return nil
}
