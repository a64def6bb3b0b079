package permits_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/permits"
	"github.com/mosey-web/mosey/internal/robots"
)

// requireSane holds whatever was read.
func requireSane(t *testing.T, p permits.Permits) {
	t.Helper()
	require.LessOrEqual(t, len(p.TDMPolicy), permits.MaxPolicyBytes)
	require.Equal(t, p.UnavailableAfter.IsZero(), !p.UnavailableAfterBy.Said())
	data, err := json.Marshal(p)
	require.NoError(t, err)
	var again permits.Permits
	require.NoError(t, json.Unmarshal(data, &again))
	require.Equal(t, p, again)

	merged := p
	merged.Merge(p)
	require.Equal(t, p, merged)
}

func FuzzXRobotsTag(f *testing.F) {
	for _, s := range []string{
		"noindex", "otherbot: noindex, mosey: none", "unavailable_after: 25 Jun 2010 15:00:00 PST", "unavailable_after: Fri, 25-Jun-10 15:00:00 UTC, noai",
		"a:b:c:noindex", "noindex unavailable_after : 2010-06-25T15:00:00.1+23:59", ",:;\x00\xff\u00a0", "max-snippet:1,nofollow",
	} {
		f.Add(s, "noarchive")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		p := fromTags(first, second)
		requireSane(t, p)
		requireSane(t, fromMeta("robots", first, "tdm-reservation", second, "tdm-policy", second))

		// A further header never makes it less restrictive.
		alone := fromTags(first)
		now := time.Date(2026, time.September, 3, 0, 0, 0, 0, time.UTC)
		before, _ := permits.Indexable(alone, now)
		after, _ := permits.Indexable(p, now)
		require.False(t, after && !before)
		alone.Merge(fromTags(second))
		require.Equal(t, p, alone)
	})
}

func FuzzContentSignal(f *testing.F) {
	for _, s := range []string{"search=yes, ai-train=no", "AI-Input = No", "search=,=no,ai-train", "search=yes,search=no", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		var file, header permits.Permits
		file.AddRobots([]string{list})
		header.AddHeader(http.Header{"Content-Signal": {list}})
		requireSane(t, file)
		require.Equal(t, file.ContentSignals.Search.Answer, header.ContentSignals.Search.Answer)
		require.Contains(t, []permits.Answer{permits.Unset, permits.Yes, permits.No}, file.ContentSignals.AITrain.Answer)
	})
}

func FuzzParseTDM(f *testing.F) {
	for _, s := range []string{w3cFile, `[{"location":"/*a*$","tdm-reservation":"1"}]`, `[null]`, `{}`, "\xef\xbb\xbf[]", `[{"location":"\ud800%","tdm-reservation":1}]`} {
		f.Add([]byte(s), "/directory-a/x?y")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		rules, err := permits.ParseTDM(body)
		if err != nil {
			require.Empty(t, rules)
			return
		}
		require.LessOrEqual(t, len(rules), permits.MaxTDMRules)
		rule, _ := rules.Match(path, robots.Match)
		var p permits.Permits
		p.AddTDM(rule)
		require.Equal(t, rule.Reserved, p.TDMReserved.Said())
		requireSane(t, p)

		data, err := json.Marshal(rules)
		require.NoError(t, err)
		var again permits.TDM
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, rules, again)
	})
}
