package crawl

import (
	"encoding/json"
	"fmt"
	"strconv"
)

const (
	// PagesPerActivityAuto, as Settings.PagesPerActivity, leaves it to the activities: one
	// page each while Temporal is at ease, else more.
	PagesPerActivityAuto = 0
	// PagesPerActivityMax is the most that can be set.
	PagesPerActivityMax = 1000
)

func (s Settings) validatePagesPerActivity() error {
	n := s.PagesPerActivity
	if n == nil || *n >= PagesPerActivityAuto && *n <= PagesPerActivityMax {
		return nil
	}
	return fmt.Errorf("%w: pages_per_activity %d: want %s or 1 to %d", ErrInvalid, *n, autoText, PagesPerActivityMax)
}

const autoText = "auto"

// Pages is how many pages one activity may fetch, as people write it: "auto" or a
// number.
type Pages int

// UnmarshalText reads "auto", or a number from 1.
func (p *Pages) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	switch {
	case string(text) == autoText:
		*p = PagesPerActivityAuto
	case err != nil || n < 1 || n > PagesPerActivityMax:
		return fmt.Errorf("%w: pages_per_activity %q: want %s or 1 to %d", ErrInvalid, text, autoText, PagesPerActivityMax)
	default:
		*p = Pages(n)
	}
	return nil
}

// UnmarshalJSON also reads 0, which is how auto is stored: workers that do not know
// it read a number.
func (p *Pages) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return p.UnmarshalText([]byte(text))
	}
	return json.Unmarshal(data, (*int)(p))
}
