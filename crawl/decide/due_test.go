package decide_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

func TestEnd(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Hour)

	_, ends := decide.End(facts(), "")
	require.False(t, ends, "something is due")

	_, ends = decide.End(facts(func(f *decide.Facts) { run(f).Attempt, run(f).LockedAt, f.Domain.SlotFree = nil, now, later }), "")
	require.False(t, ends, "an attempt is open")

	end, ends := decide.End(facts(func(f *decide.Facts) { run(f).Attempt, run(f).Due = nil, later }), "scheduled")
	require.True(t, ends)
	require.Equal(t, crawl.Finish{Reason: "scheduled"}, end)

	require.Equal(t, crawl.Finish{DeferredUntil: later, Reason: "retry-after"},
		decide.Deferral(facts().Facts, time.Hour, "retry-after"), "whatever is due")
}

func TestFollow(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) { page(f).Depth = 2 })
	r, c := *run(&f), *page(&f)
	links := func() *crawl.Follow {
		follow, stored := decide.FollowLinks(r, c, usage.Usage{})
		require.True(t, stored)
		return follow
	}
	require.Equal(t, &crawl.Follow{Depth: 3, SeedsOnly: true}, links())
	require.Equal(t, &crawl.Follow{Depth: 2, Redirects: 1, SeedsOnly: true}, decide.FollowRedirect(r, c))

	r.Settings.Scope = new(settings.ScopeWeb)
	require.Equal(t, &crawl.Follow{Depth: 3, MaxSubdomains: new(int64(1000))}, links())
	r.Settings.MaxSubdomains = new(settings.Unlimited)
	require.Equal(t, &crawl.Follow{Depth: 3}, links())
	r.Settings.MaxDepth = new(2)
	require.Nil(t, links(), "the depth is reached")
	require.NotNil(t, decide.FollowRedirect(r, c), "which a redirect keeps")

	c.Redirects = *r.Settings.MaxRedirects
	require.Nil(t, decide.FollowRedirect(r, c))
	require.Equal(t, &crawl.KnownLinks{}, decide.FollowKnown(r, c, usage.Usage{}))

	c.Depth, c.Redirects, r.Settings.Scope = 0, 0, new(settings.ScopeSeeds)
	require.Equal(t, &crawl.Follow{Redirects: 1, Seed: true}, decide.FollowRedirect(r, c), "a seed that has moved takes its scope along")
}

// A page's links are a part of what it says.
func TestFollowByUsage(t *testing.T) {
	t.Parallel()
	f := facts()
	r, c := *run(&f), *page(&f)
	redirect := decide.FollowRedirect(r, c)
	for name, c := range map[string]struct {
		said    usage.Usage
		purpose settings.Purpose
		stored  bool
		known   bool
	}{
		"NothingSaid":       {usage.Usage{}, settings.PurposeAITrain, true, true},
		"ForbidsThePurpose": {usage.Usage{NoAI: usage.SourceHeader}, settings.PurposeAITrain, false, false},
		"ForbidsAnother":    {usage.Usage{NoAI: usage.SourceHeader}, settings.PurposeSearch, true, true},
		// a link by link matter where the page is read: see readBody
		"NoFollow": {usage.Usage{NoFollow: usage.SourceHeader}, settings.PurposeSearch, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, facts := r, *page(&f)
			r.Settings.Purpose = &c.purpose
			follow, stored := decide.FollowLinks(r, facts, c.said)
			require.Equal(t, c.stored, stored)
			require.Equal(t, c.stored, follow != nil)
			data, err := json.Marshal(c.said)
			require.NoError(t, err)
			facts.Usage = data
			for _, known := range []*crawl.KnownLinks{decide.FollowKnown(r, facts, c.said), decide.FollowSkipped(r, facts)} {
				require.Equal(t, c.known, known.Link != nil)
				require.Equal(t, redirect, known.Redirect, "a redirect has nothing to be used")
			}
		})
	}
	t.Run("WhatCannotBeReadMayForbid", func(t *testing.T) {
		t.Parallel()
		c := *page(&f)
		c.Usage = json.RawMessage(`{"noai":1}`)
		require.Equal(t, &crawl.KnownLinks{Redirect: redirect}, decide.FollowSkipped(r, c))
	})
}

func TestRetriesComeAfterFreshPages(t *testing.T) {
	t.Parallel()
	first := crawl.AttemptFacts{Priority: 0}
	again := crawl.AttemptFacts{Priority: decide.RetryPriority(first)}
	require.Less(t, again.Priority, -1000, "deep pages come first, too")
	require.Equal(t, again.Priority, decide.RetryPriority(again), "the next try waits no longer")
	deepest := crawl.AttemptFacts{Priority: -32767}
	require.GreaterOrEqual(t, decide.RetryPriority(deepest), -32768, "it is a smallint")
}

func TestLastAttempt(t *testing.T) {
	t.Parallel()
	f := facts()
	r, c := *run(&f), *page(&f)
	r.Settings.MaxAttempts = new(2)
	require.False(t, decide.LastAttempt(r, c))
	c.Number = 2
	require.True(t, decide.LastAttempt(r, c))
	c.Number = 3
	require.True(t, decide.LastAttempt(r, c))
}
