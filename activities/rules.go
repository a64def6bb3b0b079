package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/maypok86/otter/v2"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/robots"
)

// RobotsStore is the rows of robots.txt.
type RobotsStore interface {
	Robots(ctx context.Context, origin string) (crawl.Robots, error)
	SaveRobots(ctx context.Context, r crawl.Robots) (failures int, err error)
}

// ruleCacheBytes bounds the text behind the cached rules. A hostile robots.txt
// can be 2 MB in canonical form; the usual one is under 1 KB.
const ruleCacheBytes = 32 << 20

// ruleOverhead is what an entry costs beside its text, roughly.
const ruleOverhead = 512

// ruleCache keeps parsed rules by origin and version, so that a page costs no
// query and no parsing for its robots.txt.
type ruleCache struct {
	store RobotsStore
	cache *otter.Cache[string, parsedRules]
}

// parsedRules are the rules for one agent.
type parsedRules struct {
	rules *robots.Rules
	tdm   usage.TDM
	agent string
	size  int
}

func newRuleCache(store RobotsStore) (*ruleCache, error) {
	cache, err := otter.New(&otter.Options[string, parsedRules]{
		MaximumWeight: ruleCacheBytes,
		Weigher: func(key string, r parsedRules) uint32 {
			return uint32(len(key) + r.size + ruleOverhead) //nolint:gosec // bounded by package robots
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the rule cache: %w", err)
	}
	return &ruleCache{store: store, cache: cache}, nil
}

// get returns the rules of an origin in the version that Next has named.
func (c *ruleCache) get(ctx context.Context, origin string, version int64) (parsedRules, error) {
	key := origin + " " + strconv.FormatInt(version, 10)
	if r, ok := c.cache.GetIfPresent(key); ok {
		return r, nil
	}
	stored, err := c.store.Robots(ctx, origin)
	if err != nil {
		return parsedRules{}, err
	}
	r := parsedRules{rules: robots.Restore(stored.Rules), agent: stored.Agent, size: len(stored.Rules) + len(stored.TDM)}
	if len(stored.TDM) > 0 {
		if err := json.Unmarshal(stored.TDM, &r.tdm); err != nil {
			return parsedRules{}, fmt.Errorf("read the tdmrep.json of %s: %w", origin, err)
		}
	}
	// The version that was read may be newer than the one asked for: that is what
	// holds now, but only under its own name.
	c.cache.Set(origin+" "+strconv.FormatInt(stored.Version, 10), r)
	return r, nil
}
