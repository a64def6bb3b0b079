package crawl

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Validate checks the fields that are set. It joins all faults; each names its
// field as JSON and the command line do, and wraps ErrInvalid.
func (s Settings) Validate() error {
	return errors.Join(
		inRange("delay", s.Delay, 0, Duration(DelayMax)),
		inRange("ip_delay", s.IPDelay, 0, Duration(DelayMax)),
		inRange("subnet_delay", s.SubnetDelay, 0, Duration(DelayMax)),
		inRange("defer_after", s.DeferAfter, 0, Duration(DelayMax)),
		inRange("min_refetch", s.MinRefetch, 0, Duration(DelayMax)),
		inRange("graylist", s.Graylist, 0, Duration(DelayMax)),
		inRange("latency_factor", s.LatencyFactor, 0, LatencyFactorMax),
		inRange("max_graylistings", s.MaxGraylistings, 1, MaxGraylistingsMax),
		inRange("max_attempts", s.MaxAttempts, 1, MaxAttemptsMax),
		inRange("max_depth", s.MaxDepth, Unlimited, math.MaxInt16),
		inRange("max_redirects", s.MaxRedirects, 0, MaxRedirectsMax),
		inRange("max_active_domains", s.MaxDomains, 1, MaxDomainsMax),
		inRange("max_pages", s.MaxPages, Unlimited, math.MaxInt64),
		inRange("max_pages_per_domain", s.MaxPagesPerDomain, Unlimited, math.MaxInt64),
		inRange("max_pages_per_registered_domain", s.MaxPagesPerRegistered, Unlimited, math.MaxInt64),
		inRange("max_pages_per_depth", s.MaxPagesPerDepth, Unlimited, math.MaxInt64),
		inRange("budget_growth", s.BudgetGrowth, 1, BudgetGrowthMax),
		inRange("max_subdomains", s.MaxSubdomains, Unlimited, math.MaxInt32),
		inRange("max_bytes", s.MaxBytes, Unlimited, math.MaxInt64),
		inRange("max_bytes_per_domain", s.MaxBytesPerDomain, Unlimited, math.MaxInt64),
		inRange("max_time", s.MaxTime, 0, Duration(DelayMax)),
		inRange("yield_after", s.YieldAfter, 0, math.MaxInt64),
		inRange("max_images_per_domain", s.MaxImagesPerDomain, Unlimited, math.MaxInt64),
		inRange("max_images_per_page", s.MaxImagesPerPage, 0, ImagesPerPageMax),
		inRange("image_min_width", s.ImageMinWidth, 1, ImageMinMax),
		inRange("image_min_height", s.ImageMinHeight, 1, ImageMinMax),
		s.validateImages(),
		s.validateWeights(),
		s.validatePagesPerActivity(),
		validatePatterns("exclude", s.Exclude),
		validatePatterns("include", s.Include),
		s.validateScope(),
		s.validateGroupBy(),
		s.validatePurpose(),
		s.validateWindow(),
		s.validateFields(),
	)
}

func (s Settings) validateFields() error {
	if s.unknown == "" {
		return nil
	}
	return fmt.Errorf("%w: there is no setting %q", ErrInvalid, s.unknown)
}

// validatePatterns checks patterns of URLs.
func validatePatterns(name string, patterns *[]string) error {
	if patterns == nil {
		return nil
	}
	if n := len(*patterns); n > PatternsMax {
		return fmt.Errorf("%w: %s: %d patterns: want %d at most", ErrInvalid, name, n, PatternsMax)
	}
	for _, p := range *patterns {
		begins := strings.HasPrefix(p, "/") || strings.HasPrefix(p, "*") ||
			strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://")
		switch {
		case len(p) > PatternMax:
			return fmt.Errorf("%w: %s %q: %d bytes: want %d at most", ErrInvalid, name, shorten(p), len(p), PatternMax)
		case !begins, strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' }):
			return fmt.Errorf("%w: %s %q: want the beginning of a path or a URL as it is written in ASCII, such as /wiki/ or "+
				"https://example.org/wiki/; * is anything, $ the end", ErrInvalid, name, p)
		}
	}
	return nil
}

func (s Settings) validateWeights() error {
	if s.PriorityWeights == nil {
		return nil
	}
	//workflowcheck:ignore they are sorted
	for _, name := range slices.Sorted(maps.Keys(*s.PriorityWeights)) {
		if !slices.Contains(PriorityParts, name) {
			return fmt.Errorf("%w: priority_weights: there is no %q: want some of %s", ErrInvalid, name, strings.Join(PriorityParts, ", "))
		}
		if err := inRange("priority_weights: "+name, new((*s.PriorityWeights)[name]), 0, PriorityWeightMax); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) validateScope() error {
	if s.Scope == nil || *s.Scope == ScopeSeeds || *s.Scope == ScopeWeb {
		return nil
	}
	return fmt.Errorf("%w: scope %q: want %s or %s", ErrInvalid, *s.Scope, ScopeSeeds, ScopeWeb)
}

func (s Settings) validateImages() error {
	var faults []error
	if v := s.Images; v != nil && *v != ImagesOff && *v != ImagesMetadata && *v != ImagesStore {
		faults = append(faults, fmt.Errorf("%w: images %q: want %s, %s or %s", ErrInvalid, *v, ImagesOff, ImagesMetadata, ImagesStore))
	}
	if v := s.ImageScope; v != nil && *v != ImageScopeSeeds && *v != ImageScopeAny {
		faults = append(faults, fmt.Errorf("%w: image_scope %q: want %s or %s", ErrInvalid, *v, ImageScopeSeeds, ImageScopeAny))
	}
	return errors.Join(faults...)
}

func (s Settings) validateGroupBy() error {
	if s.GroupBy == nil || *s.GroupBy == GroupByHost || *s.GroupBy == GroupByRegistered {
		return nil
	}
	return fmt.Errorf("%w: group_by %q: want %s or %s", ErrInvalid, *s.GroupBy, GroupByHost, GroupByRegistered)
}

func (s Settings) validatePurpose() error {
	if s.Purpose == nil {
		return nil
	}
	switch *s.Purpose {
	case PurposeSearch, PurposeAITrain, PurposeArchive:
		return nil
	}
	return fmt.Errorf("%w: purpose %q: want %s, %s or %s", ErrInvalid, *s.Purpose, PurposeSearch, PurposeAITrain, PurposeArchive)
}

func (s Settings) validateWindow() error {
	if s.Window == nil || *s.Window == "" {
		return nil
	}
	_, err := ParseWindows(*s.Window)
	return err
}

func inRange[T int | int64 | float64 | Duration](name string, value *T, low, high T) error {
	if value == nil || (*value >= low && *value <= high) {
		return nil
	}
	return fmt.Errorf("%w: %s %v: want %v to %v", ErrInvalid, name, *value, low, high)
}
