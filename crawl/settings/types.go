package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrInvalid says that an input was refused; the message says which and why.
var ErrInvalid = errors.New("invalid input")

// Unlimited, as a budget or a depth, sets no limit.
const Unlimited = -1

// DelayMax is the longest delay.
const DelayMax = 365 * 24 * time.Hour

const (
	// PagesPerActivityAuto, as Settings.PagesPerActivity, leaves it to the activities: one
	// page each while Temporal is at ease, else more.
	PagesPerActivityAuto = 0
	// PagesPerActivityMax is the most that can be set.
	PagesPerActivityMax = 1000
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

// Images is what a run does about the images of its pages.
type Images string

// What a run may do about images.
const (
	// ImagesOff leaves them alone: none is asked for, none is recorded.
	ImagesOff Images = "off"
	// ImagesMetadata fetches them for their fingerprints and what they say of themselves.
	ImagesMetadata Images = "metadata"
	// ImagesStore also keeps their bytes.
	ImagesStore Images = "store"
)

// ImageScope says which hosts a run asks for images.
type ImageScope string

// The scopes that images can have.
const (
	// ImageScopeSeeds asks only the domains that were seeded.
	ImageScopeSeeds ImageScope = "seeds"
	// ImageScopeAny asks any host that a page has an image from. Hosts outside the run's own
	// scope are asked for images only.
	ImageScopeAny ImageScope = "any"
)

// WhenDone is what becomes of a run with nothing left to request.
type WhenDone string

// What a run may do with nothing left to request.
const (
	// WhenDoneEnd ends it.
	WhenDoneEnd WhenDone = "end"
	// WhenDoneWait keeps it for new seeds.
	WhenDoneWait WhenDone = "wait"
	// WhenDoneRecrawl keeps it, and asks for its pages again, the sooner the more often
	// they change.
	WhenDoneRecrawl WhenDone = "recrawl"
)

// What Settings.Skip may have.
const (
	// SkipExtensions are URLs that end as those of files that cannot be parsed do.
	SkipExtensions = "extensions"
	// SkipVariants are URLs of other views of a page, as common software has them; see
	// package variants.
	SkipVariants = "variants"
)

// Skips reports whether the settings, all of which are set, leave such URLs out.
func (s Settings) Skips(what string) bool { return slices.Contains(*s.Skip, what) }

// Recrawls reports whether a run asks for its pages again.
func (s Settings) Recrawls() bool { return s.WhenDone != nil && *s.WhenDone == WhenDoneRecrawl }

// Stays reports whether a run goes on with nothing left to request.
func (s Settings) Stays() bool { return s.WhenDone != nil && *s.WhenDone != WhenDoneEnd }

// TakesImages reports whether the settings, all of which are set, have images fetched.
func (s Settings) TakesImages() bool { return *s.Images != ImagesOff }

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
		return fmt.Errorf("%w: duration %q: want %s", ErrInvalid, s, wantDuration)
	}
	*d = Duration(v)
	return nil
}

// String is the duration as text.
func (d Duration) String() string { return time.Duration(d).String() }

const wantDuration = "a number and a unit, such as 10s or 1h30m"
