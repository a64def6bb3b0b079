package ruling

import (
	"slices"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
)

const (
	// repeatsMin is the number of URLs with the same text that make an origin's answer for a missing
	// page wanted.
	repeatsMin = 3
	// maxRepeats, maxTexts and maxOrigins bound the URLs that are remembered.
	maxRepeats, maxTexts, maxOrigins = 5, 4, 5000
)

// repeats has the last texts that origins gave for new URLs. It is a heuristic in memory: a restart
// forgets it.
type repeats struct {
	mu      sync.Mutex
	origins map[string]*[maxTexts]repeat
}

// repeat is a text with its first URLs.
type repeat struct {
	text uint64
	urls []string
}

// NoteText notes the text (traps.PageText.Text) that an origin gave for a new URL.
func (r *Reader) NoteText(origin, url string, text uint64) { r.repeats.add(origin, url, text) }

// URLsOf returns the noted URLs of a text.
func (r *Reader) URLsOf(origin string, text uint64) []string {
	r.repeats.mu.Lock()
	defer r.repeats.mu.Unlock()
	if texts := r.repeats.origins[origin]; texts != nil {
		for _, t := range texts {
			if t.text == text {
				return slices.Clone(t.urls)
			}
		}
	}
	return nil
}

func (r *repeats) add(origin, url string, text uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := r.origins[origin]
	if texts == nil {
		if r.origins == nil || len(r.origins) >= maxOrigins {
			r.origins = map[string]*[maxTexts]repeat{}
		}
		texts = new([maxTexts]repeat)
		r.origins[origin] = texts
	}
	fewest := &texts[0]
	for i := range texts {
		switch t := &texts[i]; {
		case t.text == text:
			if len(t.urls) < maxRepeats {
				t.urls = append(t.urls, url)
			}
			return
		case len(t.urls) < len(fewest.urls):
			fewest = t
		}
	}
	*fewest = repeat{text: text, urls: []string{url}}
}

// wants reports whether the origin's answer for a missing page is to be requested.
func (r *repeats) wants(origin string, p *parsed) bool {
	if p.missing != nil && time.Since(p.missing.At) < decide.MissingInterval {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := r.origins[origin]
	return texts != nil && slices.ContainsFunc(texts[:], func(t repeat) bool { return len(t.urls) >= repeatsMin }) &&
		p.rules.Decide(kinds.MissingPath).Allowed
}
