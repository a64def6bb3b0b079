package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrInvalid reports an invalid input; the message names the input and the fault.
var ErrInvalid = errors.New("invalid input")

// Unlimited, as a budget or a depth, sets no limit.
const Unlimited = -1

// DelayMax is the longest delay.
const DelayMax = 365 * 24 * time.Hour

const (
	// PagesPerActivityAuto, as Settings.PagesPerActivity, lets the activities decide: one page each
	// without load on Temporal, else more.
	PagesPerActivityAuto = 0
	PagesPerActivityMax  = 1000
)

// Scope selects the discovered pages that a run crawls.
type Scope string

// The scopes a run can have.
const (
	ScopeSeeds Scope = "seeds" // stays on the domains that were seeded
	ScopeWeb   Scope = "web"   // follows links to all domains
)

// GroupBy selects the domains that share one delay.
type GroupBy string

// The ways of grouping domains.
const (
	GroupByHost       GroupBy = "host"              // one delay for each host
	GroupByRegistered GroupBy = "registered-domain" // one delay for all hosts of a registered domain
)

// Purpose is the purpose of a crawl. Publishers allow and forbid uses by purpose.
type Purpose string

// The purposes a run can have.
const (
	PurposeSearch  Purpose = "search"   // to find pages, as by links and titles
	PurposeAITrain Purpose = "ai-train" // to train or tune models
	PurposeArchive Purpose = "archive"  // to keep copies
)

// Images is a run's treatment of the images of its pages.
type Images string

// The treatments of images.
const (
	ImagesOff      Images = "off"      // requests and records no images
	ImagesMetadata Images = "metadata" // fetches them for their fingerprints and their metadata
	ImagesStore    Images = "store"    // also keeps their bytes
)

// ImageScope selects the hosts that a run requests images from.
type ImageScope string

// The scopes that images can have.
const (
	ImageScopeSeeds ImageScope = "seeds" // requests only the seeded domains
	// ImageScopeAny requests images from any host, and only images from hosts outside the run's scope.
	ImageScopeAny ImageScope = "any"
)

// WhenDone is the fate of a run with nothing left to request.
type WhenDone string

// The fates of a run with nothing left to request.
const (
	WhenDoneEnd     WhenDone = "end"     // ends it
	WhenDoneWait    WhenDone = "wait"    // keeps it for new seeds
	WhenDoneRecrawl WhenDone = "recrawl" // keeps it, and fetches changing pages again
)

// The values of Settings.Skip.
const (
	SkipExtensions = "extensions" // URLs of files that cannot be parsed, by their ending
	SkipVariants   = "variants"   // URLs of other views of a page; see package variants
)

// Skips reports whether the settings, all set, leave out such URLs.
func (s Settings) Skips(kind string) bool { return slices.Contains(*s.Skip, kind) }

// Recrawls reports whether a run requests its pages again.
func (s Settings) Recrawls() bool { return s.WhenDone != nil && *s.WhenDone == WhenDoneRecrawl }

// WaitsWhenDone reports whether a run continues with nothing left to request.
func (s Settings) WaitsWhenDone() bool { return s.WhenDone != nil && *s.WhenDone != WhenDoneEnd }

// TakesImages reports whether the settings, all set, request images.
func (s Settings) TakesImages() bool { return *s.Images != ImagesOff }

// Duration is a time.Duration that JSON writes as text ("10s", "1h30m").
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads text such as "10s".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%w: duration %s: want text such as \"10s\"", ErrInvalid, data)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%w: duration %q: want %s", ErrInvalid, s, expectedDuration)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

const expectedDuration = "a number and a unit, such as 10s or 1h30m"
