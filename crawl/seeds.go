package crawl

import (
	"errors"
	"fmt"
)

// StagedSeed is a raw seed that a command line has handed over and that is yet to
// be stored.
type StagedSeed struct {
	ID  int64
	URL string
}

// ParseURLs canonicalises URLs. It joins all faults, each of which wraps
// ErrInvalid.
func ParseURLs(raw []string) ([]URL, error) {
	urls := make([]URL, 0, len(raw))
	var faults []error
	for _, s := range raw {
		u, err := ParseURL(s)
		if err != nil {
			faults = append(faults, fmt.Errorf("%w: %w: want an absolute http or https URL, such as https://example.org/", ErrInvalid, err))
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(faults...)
}
