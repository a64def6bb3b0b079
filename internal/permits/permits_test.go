package permits_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/permits"
)

const (
	header = permits.SourceHeader
	toUs   = permits.SourceHeaderToken
)

func fromTags(values ...string) permits.Permits {
	var p permits.Permits
	p.AddHeader(http.Header{"X-Robots-Tag": values})
	return p
}

func fromMeta(namesAndContents ...string) permits.Permits {
	var p permits.Permits
	for i := 0; i < len(namesAndContents); i += 2 {
		p.AddMeta(namesAndContents[i], namesAndContents[i+1])
	}
	return p
}

func TestXRobotsTag(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2010, time.June, 25, hour, 0, 0, 0, time.UTC) }
	for why, c := range map[string]struct {
		values []string
		want   permits.Permits
	}{
		"nothing":                 {nil, permits.Permits{}},
		"empty":                   {[]string{"", " ", ",", ":", ",:,"}, permits.Permits{}},
		"Google: one":             {[]string{"noindex"}, permits.Permits{NoIndex: header}},
		"Google: two headers":     {[]string{"noimageindex", "unavailable_after: 25 Jun 2010 15:00:00 PST"}, permits.Permits{NoImageIndex: header, UnavailableAfter: at(23), UnavailableAfterBy: header}},
		"Google: two crawlers":    {[]string{"googlebot: nofollow", "otherbot: noindex, nofollow"}, permits.Permits{}},
		"Google: sum of negative": {[]string{"nofollow", "mosey: noindex"}, permits.Permits{NoFollow: header, NoIndex: toUs}},
		"MDN: crawlers in a list": {[]string{"BadBot: noindex, nofollow, mosey: noarchive"}, permits.Permits{NoArchive: toUs}},
		"ours, then another":      {[]string{"Mosey: noai, noimageai, otherbot: noindex"}, permits.Permits{NoAI: toUs, NoImageAI: toUs}},
		"all, then another":       {[]string{"nosnippet, otherbot: noindex"}, permits.Permits{NoSnippet: header}},
		"next header is for all":  {[]string{"otherbot: noindex", "nofollow"}, permits.Permits{NoFollow: header}},
		"index to us lifts none":  {[]string{"noindex", "mosey: index, all"}, permits.Permits{NoIndex: header}},
		"case and spaces":         {[]string{"  NoIndex ,\tNOFOLLOW"}, permits.Permits{NoIndex: header, NoFollow: header}},
		"spaces and semicolons":   {[]string{"noindex; nofollow noai"}, permits.Permits{NoIndex: header, NoFollow: header, NoAI: header}},
		"none":                    {[]string{"none"}, permits.Permits{NoIndex: header, NoFollow: header}},
		"unknown":                 {[]string{"all, index, follow, noodp, notranslate, noindexes, max-snippet:20, max-image-preview: none"}, permits.Permits{}},
		"value is no directive":   {[]string{"max-image-preview:none, nofollow"}, permits.Permits{NoFollow: header}},
		"ours with a version":     {[]string{"mosey/1.2: noindex"}, permits.Permits{NoIndex: toUs}},
		"star":                    {[]string{"*: noindex"}, permits.Permits{NoIndex: header}},
		"part of our name":        {[]string{"moseybot: noindex", "mose: noindex"}, permits.Permits{}},
		"date to us":              {[]string{"mosey: noindex, unavailable_after: 25 Jun 2010 15:00:00 GMT"}, permits.Permits{NoIndex: toUs, UnavailableAfter: at(15), UnavailableAfterBy: toUs}},
		"date to another":         {[]string{"otherbot: unavailable_after: 25 Jun 2010 15:00:00 GMT"}, permits.Permits{}},
		"date with a comma":       {[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex"}, permits.Permits{NoIndex: header, UnavailableAfter: at(15), UnavailableAfterBy: header}},
		"words before a date":     {[]string{"noindex\u00a0unavailable_after : 2010-06-25T15:00:00Z"}, permits.Permits{NoIndex: header, UnavailableAfter: at(15), UnavailableAfterBy: header}},
		"earliest date":           {[]string{"unavailable_after: 2010-06-25T15:00:00Z", "mosey: unavailable_after: 2010-06-25T14:00:00Z", "unavailable_after: 2011-06-25"}, permits.Permits{UnavailableAfter: at(14), UnavailableAfterBy: toUs}},
		"NUL and invalid UTF-8":   {[]string{"noindex\x00, no\xfffollow, \xff: noai, noarchive", "noai"}, permits.Permits{NoAI: header}},
		"1 MB of one word":        {[]string{strings.Repeat("noindex", 150_000)}, permits.Permits{}},
		"word cut in two":         {[]string{"noai" + strings.Repeat(" ", permits.MaxValueBytes-len("noai,none")) + ",nonexistent"}, permits.Permits{NoAI: header}},
		"1 MB of names":           {[]string{strings.Repeat("a:", 500_000) + "noindex"}, permits.Permits{}},
		"too many headers":        {append(make([]string, permits.MaxValues), "noindex"), permits.Permits{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, fromTags(c.values...))
		})
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	const robots, mosey = permits.SourceMetaRobots, permits.SourceMetaToken
	for why, c := range map[string]struct {
		metas []string
		want  permits.Permits
	}{
		"to all":              {[]string{" Robots ", "noindex, noai"}, permits.Permits{NoIndex: robots, NoAI: robots}},
		"to us":               {[]string{"MOSEY", "noarchive"}, permits.Permits{NoArchive: mosey}},
		"to all and us":       {[]string{"robots", "nofollow", "mosey", "noindex"}, permits.Permits{NoFollow: robots, NoIndex: mosey}},
		"first source stays":  {[]string{"mosey", "noindex", "robots", "noindex"}, permits.Permits{NoIndex: mosey}},
		"to others":           {[]string{"googlebot", "none", "description", "noindex", "", "noindex"}, permits.Permits{}},
		"names are no bots":   {[]string{"robots", "otherbot: noindex"}, permits.Permits{NoIndex: robots}},
		"colon for comma":     {[]string{"robots", "noindex:nofollow"}, permits.Permits{NoIndex: robots, NoFollow: robots}},
		"date":                {[]string{"robots", "unavailable_after: 2010-06-25"}, permits.Permits{UnavailableAfter: time.Date(2010, 6, 25, 0, 0, 0, 0, time.UTC), UnavailableAfterBy: robots}},
		"TDM: reserved":       {[]string{"tdm-reservation", "1", "tdm-policy", "https://provider.com/policies/policy.json"}, permits.Permits{TDMReserved: permits.SourceMetaTDM, TDMPolicy: "https://provider.com/policies/policy.json"}},
		"TDM: not reserved":   {[]string{"tdm-reservation", "0"}, permits.Permits{}},
		"TDM: 0 lifts no 1":   {[]string{"tdm-reservation", " 1 ", "tdm-reservation", "0"}, permits.Permits{TDMReserved: permits.SourceMetaTDM}},
		"TDM: what is no 1":   {[]string{"tdm-reservation", "10", "tdm-reservation", "yes", "tdm-reservation", ""}, permits.Permits{}},
		"TDM: unusable terms": {[]string{"tdm-policy", "javascript:alert(1)", "tdm-policy", "/p", "tdm-policy", "https://a/\x00", "tdm-policy", "https://a/" + strings.Repeat("x", permits.MaxPolicyBytes)}, permits.Permits{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, fromMeta(c.metas...))
		})
	}
}

func TestUnavailableAfterDates(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, time.September, 3, 15, 0, 0, 0, time.UTC)
	for _, date := range []string{
		"3 Sep 2026 15:00:00 GMT", "03 Sep 26 15:00 UT", "Thu, 03 Sep 2026 15:00:00 +0000", "Thursday, 03-Sep-26 15:00:00 UTC",
		"3 September 2026 15:00", "3-Sep-2026 15:00:00", "2026-09-03T15:00:00Z", "2026-09-03T17:00:00+02:00", "2026-09-03T17:00+0200",
		"2026-09-03T15:00:00.000Z", "2026-09-03 15:00", "3 Sep 2026 10:00:00 CDT", "3 sep 2026 08:00:00 pdt", "3 Sep 2026 17:00:00 +0200", "3 Sep 2026 15:00:00 XYZ",
		" 3  Sep 2026\t15:00:00 ",
	} {
		require.Equal(t, want, fromTags("unavailable_after: "+date).UnavailableAfter, date)
	}
	for _, date := range []string{
		"", "soon", "1", "GMT", "31 Feb 2026 15:00:00 GMT", "1969-12-31", "10000-01-01", "9999-12-31T23:00:00-12:00", "0001-01-01",
		"2026-09-03" + strings.Repeat(" ", 99), "15:00:00 GMT", "Thursday",
	} {
		require.Zero(t, fromTags("unavailable_after: "+date), date)
	}
}

func TestContentSignals(t *testing.T) {
	t.Parallel()
	yes := func(by permits.Source) permits.Signal { return permits.Signal{Answer: permits.Yes, By: by} }
	no := func(by permits.Source) permits.Signal { return permits.Signal{Answer: permits.No, By: by} }
	const file, answer = permits.SourceRobotsSignals, permits.SourceHeaderSignal
	for why, c := range map[string]struct {
		robots, header []string
		want           permits.ContentSignals
	}{
		"nothing":            {nil, nil, permits.ContentSignals{}},
		"Cloudflare":         {[]string{"search=yes,ai-train=no"}, nil, permits.ContentSignals{Search: yes(file), AITrain: no(file)}},
		"all three":          {nil, []string{"ai-train=yes, search=yes, ai-input=yes"}, permits.ContentSignals{Search: yes(answer), AIInput: yes(answer), AITrain: yes(answer)}},
		"case and spaces":    {[]string{" Search = NO ,AI-Input=\tYes"}, nil, permits.ContentSignals{Search: no(file), AIInput: yes(file)}},
		"no wins, first yes": {[]string{"search=yes, ai-train=yes", "search=yes"}, []string{"search=yes, ai-train=no", "ai-train=yes"}, permits.ContentSignals{Search: yes(file), AITrain: no(answer)}},
		"no within a line":   {[]string{"ai-train=no, ai-train=yes"}, nil, permits.ContentSignals{AITrain: no(file)}},
		"nonsense":           {[]string{"search", "search=", "search=maybe", "=no", "ai_train=no", "/a search=no", "search==no", "\x00search=no", "ai-train=n\xffo"}, nil, permits.ContentSignals{}},
		"too many lines":     {append(make([]string, permits.MaxValues), "search=no"), nil, permits.ContentSignals{}},
		"1 MB":               {[]string{strings.Repeat(",", 1<<20) + "search=no"}, []string{strings.Repeat("search=no", 1<<17)}, permits.ContentSignals{}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			var p permits.Permits
			p.AddRobots(c.robots)
			p.AddHeader(http.Header{"Content-Signal": c.header})
			require.Equal(t, permits.Permits{ContentSignals: c.want}, p)
		})
	}
}

func TestTDMHeaders(t *testing.T) {
	t.Parallel()
	var p permits.Permits
	h := http.Header{}
	h.Add("Tdm-Reservation", "0, 1") // joined by a proxy
	h.Add("Tdm-Policy", "https://provider.com/policies/policy.json")
	p.AddHeader(h)
	require.Equal(t, permits.Permits{TDMReserved: permits.SourceHeaderTDM, TDMPolicy: "https://provider.com/policies/policy.json"}, p)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	full := fromTags("none, noarchive, nosnippet, noimageindex, noai, noimageai, unavailable_after: 2026-09-03")
	full.AddHeader(http.Header{
		"Tdm-Reservation": {"1"}, "Tdm-Policy": {"https://a.example/"}, "Content-Signal": {"search=no, ai-input=no, ai-train=no"},
	})
	t.Run("adds all that is said", func(t *testing.T) {
		t.Parallel()
		var p permits.Permits
		p.Merge(full)
		require.Equal(t, full, p)
		p.Merge(permits.Permits{})
		require.Equal(t, full, p)
	})
	t.Run("keeps the first source, the earliest date and the last policy", func(t *testing.T) {
		t.Parallel()
		p := full
		p.Merge(fromMeta("robots", "none, noai, unavailable_after: 2026-09-02", "tdm-reservation", "1", "tdm-policy", "https://b.example/"))
		want := full
		want.UnavailableAfter = want.UnavailableAfter.AddDate(0, 0, -1)
		want.UnavailableAfterBy = permits.SourceMetaRobots
		want.TDMPolicy = "https://b.example/"
		require.Equal(t, want, p)
	})
	t.Run("survives JSON", func(t *testing.T) {
		t.Parallel()
		for _, p := range []permits.Permits{{}, full} {
			data, err := json.Marshal(p)
			require.NoError(t, err)
			var again permits.Permits
			require.NoError(t, json.Unmarshal(data, &again))
			require.Equal(t, p, again)
		}
		data, err := json.Marshal(permits.Permits{})
		require.NoError(t, err)
		require.Equal(t, "{}", string(data))
	})
}
