// Package ruling reads the further texts that a decision needs: the rules of robots.txt and
// tdmrep.json, and windows. It caches the parsed texts, so that a page costs no query and no
// parsing for them.
package ruling

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/robots"
)

// Store reads the rows of robots.txt.
type Store interface {
	Robots(ctx context.Context, origin string) (crawl.Robots, error)
}

const (
	// cacheBytes bounds the text behind the cached rules. A hostile robots.txt can be 2 MB in
	// canonical form; the usual one is under 1 KB.
	cacheBytes = 32 << 20
	// entryOverhead is the approximate size of an entry besides its text.
	entryOverhead = 512
)

// Reader reads rulings. It is safe for concurrent use.
type Reader struct {
	store Store
	// cache holds pointers: caches of pointers share their code, and another would link 300 KB.
	cache *otter.Cache[string, *parsed]
	// hits and misses count the reads that hit and missed the cache
	hits, misses atomic.Int64
	// windows caches politeness.Windows by their text
	windows sync.Map
	repeats repeats
}

type parsed struct {
	rules    *robots.Rules
	tdm      usage.TDM
	missing  *crawl.MissingPage
	sitemaps []string
	size     int
}

// New returns a Reader with an empty cache.
func New(store Store) (*Reader, error) {
	cache, err := otter.New(&otter.Options[string, *parsed]{
		MaximumWeight: cacheBytes,
		Weigher: func(key string, r *parsed) uint32 {
			return uint32(len(key) + r.size + entryOverhead) //nolint:gosec // bounded by package robots
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of rules: %w", err)
	}
	return &Reader{store: store, cache: cache}, nil
}

// Facts completes facts for a decision about a crawl; nil means no particular crawl.
func (r *Reader) Facts(ctx context.Context, f crawl.Facts, c *crawl.AttemptFacts) (decide.Facts, error) {
	full := decide.Facts{Facts: f}
	for _, text := range decide.WindowTexts(f) {
		w, err := r.windowsOf(text)
		if err != nil {
			return full, fmt.Errorf("parse the stored windows of %s: %w", f.Domain.Name, err)
		}
		full.Windows = append(full.Windows, w)
	}
	for _, v := range f.Domain.VisitTimes {
		w, err := r.windowsOf(v.Windows)
		if err != nil {
			return full, fmt.Errorf("parse the stored Visit-time of %s: %w", f.Domain.Name, err)
		}
		w.ExpiresAt = v.Until
		full.Windows = append(full.Windows, w)
	}
	if c == nil || c.Robots == nil || c.Robots.Verdict != crawl.RobotsRules && c.Robots.Verdict != crawl.RobotsAllowAll {
		return full, nil
	}
	ruling, err := r.read(ctx, *c, f.Domain.Health.Probing)
	full.Ruling = ruling
	return full, err
}

// read returns the ruling of a crawl's origin on its page and, if its domain is to be probed, on
// the pages for the probe.
func (r *Reader) read(ctx context.Context, c crawl.AttemptFacts, probing bool) (*decide.Ruling, error) {
	u, err := urls.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("stored URL: %w", err)
	}
	p, err := r.rules(ctx, c.Origin, c.Robots.Version)
	if err != nil {
		return nil, err
	}
	d, tdm := p.rules.Decide(u.RequestTarget()), p.rules.Decide(usage.TDMPath)
	if c.Visit.RequestTarget != "" && d.Allowed {
		d = p.rules.Decide(c.Visit.RequestTarget)
	}
	ruling := &decide.Ruling{
		Allowed: d.Allowed, Line: d.Line, Rule: d.Rule, TDMAllowed: tdm.Allowed, TDMLine: tdm.Line,
		FrontPageAllowed: probing && p.rules.Decide("/").Allowed,
		Missing:          p.missing, WantsMissing: r.repeats.wants(c.Origin, p),
	}
	if c.LastReachableURL != "" {
		lastReachableURL, err := urls.Parse(c.LastReachableURL)
		if err != nil {
			return nil, fmt.Errorf("stored URL: %w", err)
		}
		lastReachable := urls.Spelt{URL: lastReachableURL, Target: c.LastReachableTarget}
		ruling.LastReachableAllowed = p.rules.Decide(lastReachable.RequestTarget()).Allowed
	}
	if rule, found := p.tdm.Match(u.RequestTarget(), robots.Match); found {
		ruling.Usage.AddTDM(rule)
	}
	ruling.Usage.AddRobots(p.rules.ContentSignals(), p.rules.ContentUsage(u.RequestTarget()))
	ruling.Usage.AddLicense(p.rules.License(), usage.SourceRobotsLicense)
	return ruling, nil
}

// rules returns the rules of an origin in the version that the facts name.
func (r *Reader) rules(ctx context.Context, origin string, version int64) (*parsed, error) {
	key := origin + " " + strconv.FormatInt(version, 10)
	if p, ok := r.cache.GetIfPresent(key); ok {
		r.hits.Add(1)
		return p, nil
	}
	r.misses.Add(1)
	stored, err := r.store.Robots(ctx, origin)
	if err != nil {
		return nil, err
	}
	stored.Origin = origin
	// The read version may be newer than the requested version. It holds now, but only under its own
	// number.
	return r.cacheRules(stored, stored.Version)
}

func (r *Reader) cacheRules(stored crawl.Robots, version int64) (*parsed, error) {
	p := &parsed{
		rules: robots.Restore(stored.Rules), sitemaps: stored.Sitemaps, missing: stored.Missing, size: len(stored.Rules) + len(stored.TDM),
	}
	for _, s := range p.sitemaps {
		p.size += len(s)
	}
	if len(stored.TDM) > 0 {
		if err := json.Unmarshal(stored.TDM, &p.tdm); err != nil {
			return nil, fmt.Errorf("read the tdmrep.json of %s: %w", stored.Origin, err)
		}
	}
	r.cache.Set(stored.Origin+" "+strconv.FormatInt(version, 10), p)
	return p, nil
}

// CacheRecorded caches the first recorded robots.txt of an origin, by the facts of its record.
func (r *Reader) CacheRecorded(recorded crawl.Robots, after crawl.Facts) error {
	c := after.AttemptOf(recorded.Origin)
	if c == nil || c.Robots == nil {
		return nil
	}
	_, err := r.cacheRules(recorded, c.Robots.Version)
	return err
}

// Sitemaps returns the sitemaps in an origin's robots.txt of the version that the facts name.
func (r *Reader) Sitemaps(ctx context.Context, origin string, version int64) ([]string, error) {
	p, err := r.rules(ctx, origin, version)
	if err != nil {
		return nil, err
	}
	return p.sitemaps, nil
}

// CacheUse counts the reads that hit and missed the cache.
func (r *Reader) CacheUse() (hits, misses int64) { return r.hits.Load(), r.misses.Load() }

// windowsOf parses each windows text once, because parsing can read a time zone's file.
func (r *Reader) windowsOf(text string) (politeness.Windows, error) {
	known, _ := r.windows.Load(text)
	if w, ok := known.(politeness.Windows); ok {
		return w, nil
	}
	w, err := politeness.ParseWindows(text)
	if err == nil {
		r.windows.Store(text, w)
	}
	return w, err
}
