package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

// ChargePage charges a page to its patterns, by its text and its canonical URL, if any. It returns
// nil for a page without patterns, or with news at an earlier visit.
func ChargePage(c crawl.AttemptFacts, u urls.URL, text *traps.PageText, canonical string) *crawl.Charge {
	charge := chargeOf(c, u)
	if charge == nil {
		return nil
	}
	if target, err := urls.Parse(canonical); err == nil && target != u && target.Domain() == u.Domain() {
		charge.Copy = true
	} else {
		canonical = ""
	}
	memory := memoryOf(c, charge.Patterns[0])
	if !memory.HasNewContent(text, u.String()) {
		charge.Duplicate = true
		return charge
	}
	memory, shared := memory.Learn(text, canonical)
	charge.Fingerprints = memory.Fingerprints()
	if shared {
		charge.Shared = memory.Shared()
	}
	return charge
}

// ChargeRedirect charges a redirecting page, judged with its target. It returns nil for equal
// addresses.
func ChargeRedirect(c crawl.AttemptFacts, u, target urls.URL) *crawl.Charge {
	charge := chargeOf(c, u)
	if charge == nil || urls.SameAddress(u, target) {
		return nil
	}
	charge.Redirect = true
	return charge
}

// ChargeUnchanged charges a page that has not changed.
func ChargeUnchanged(c crawl.AttemptFacts, u urls.URL) *crawl.Charge {
	charge := chargeOf(c, u)
	if charge == nil || c.Visit.At.IsZero() {
		return nil
	}
	charge.Duplicate = true
	return charge
}

func chargeOf(c crawl.AttemptFacts, u urls.URL) *crawl.Charge {
	patterns := traps.Patterns(u)
	if len(patterns) == 0 || hadNewContent(c) {
		return nil
	}
	return &crawl.Charge{Patterns: patterns}
}

// hadNewContent reports whether a page brought news at an earlier visit.
func hadNewContent(c crawl.AttemptFacts) bool { return !c.Visit.At.IsZero() && !c.Duplicate }

func memoryOf(c crawl.AttemptFacts, pattern string) traps.Memory {
	for _, p := range c.Patterns {
		if p.Pattern == pattern {
			return traps.DecodeMemory(p.Shared, p.Fingerprints)
		}
	}
	return traps.Memory{}
}
