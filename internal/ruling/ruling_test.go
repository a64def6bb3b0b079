package ruling_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/robots"
	"github.com/mosey-web/mosey/internal/ruling"
)

// store has one robots.txt, and counts how often it is read.
type store struct {
	robots crawl.Robots
	reads  int
}

func (s *store) Robots(context.Context, string) (crawl.Robots, error) {
	s.reads++
	return s.robots, nil
}

func factsOf(url string, version int64, verdict crawl.RobotsVerdict) (crawl.Facts, *crawl.AttemptFacts) {
	c := &crawl.AttemptFacts{
		URL: url, Origin: "https://example.org",
		Robots: &crawl.RobotsFacts{Verdict: verdict, Version: version, ExpiresAt: time.Now().Add(time.Hour)},
	}
	return crawl.Facts{
		Domain: crawl.DomainFacts{Name: "example.org"},
		Runs:   []crawl.RunFacts{{Settings: settings.Settings{}.WithDefaults(), Attempt: c}},
	}, c
}

func TestFacts(t *testing.T) {
	t.Parallel()
	rules := robots.Parse([]byte("User-agent: mosey\nDisallow: /private\n")).Rules("mosey").String()

	t.Run("SayWhichLineDecides", func(t *testing.T) {
		t.Parallel()
		s := &store{robots: crawl.Robots{Version: 1, Rules: rules}}
		r, err := ruling.New(s)
		require.NoError(t, err)
		f, c := factsOf("https://example.org/private/a", 1, crawl.RobotsRules)
		full, err := r.Facts(t.Context(), f, c)
		require.NoError(t, err)
		require.False(t, full.Ruling.Allowed)
		require.Equal(t, "Disallow: /private", full.Ruling.Rule)
		require.True(t, full.Ruling.TDMAllowed)

		f, c = factsOf("https://example.org/a", 1, crawl.RobotsRules)
		full, err = r.Facts(t.Context(), f, c)
		require.NoError(t, err)
		require.True(t, full.Ruling.Allowed)
		require.Equal(t, 1, s.reads, "one version is read once")
	})

	t.Run("ReadANewVersion", func(t *testing.T) {
		t.Parallel()
		s := &store{robots: crawl.Robots{Version: 1, Rules: rules}}
		r, err := ruling.New(s)
		require.NoError(t, err)
		for version, allowed := range []bool{false, true} {
			f, c := factsOf("https://example.org/private", int64(version+1), crawl.RobotsRules)
			full, err := r.Facts(t.Context(), f, c)
			require.NoError(t, err)
			require.Equal(t, allowed, full.Ruling.Allowed)
			s.robots = crawl.Robots{Version: 2}
		}
	})

	t.Run("AddWhatTDMRepSays", func(t *testing.T) {
		t.Parallel()
		tdm, err := json.Marshal(usage.TDM{{Location: "/a*", Reserved: true}})
		require.NoError(t, err)
		s := &store{robots: crawl.Robots{Version: 1, TDM: tdm}}
		r, err := ruling.New(s)
		require.NoError(t, err)
		f, c := factsOf("https://example.org/abc", 1, crawl.RobotsAllowAll)
		full, err := r.Facts(t.Context(), f, c)
		require.NoError(t, err)
		require.True(t, full.Ruling.Usage.TDMReserved.IsSet())
	})

	t.Run("ReadNothingWhereThereAreNoRules", func(t *testing.T) {
		t.Parallel()
		s := &store{}
		r, err := ruling.New(s)
		require.NoError(t, err)
		for _, v := range []crawl.RobotsVerdict{crawl.RobotsUnreachable, crawl.RobotsDisallowAll} {
			f, c := factsOf("https://example.org/", 1, v)
			full, err := r.Facts(t.Context(), f, c)
			require.NoError(t, err)
			require.Nil(t, full.Ruling)
		}
		require.Zero(t, s.reads)
	})

	t.Run("HaveTheWindowsOfTheRunsAndThePerson", func(t *testing.T) {
		t.Parallel()
		r, err := ruling.New(&store{})
		require.NoError(t, err)
		f, c := factsOf("https://example.org/", 1, crawl.RobotsDisallowAll)
		f.Runs[0].Settings.Window = new("Mon 22:00-06:00 Europe/Berlin")
		f.Domain.Controls = crawl.Controls{{Type: crawl.ControlWindow, Value: json.RawMessage(`"Sun 00:00-24:00"`)}}
		full, err := r.Facts(t.Context(), f, c)
		require.NoError(t, err)
		require.Len(t, full.Windows, 2)

		f.Runs[0].Settings.Window = new("Mon 22:00-06:00 Europe/Berln")
		_, err = r.Facts(t.Context(), f, c)
		require.ErrorContains(t, err, `stored windows of example.org: `)
	})
}
