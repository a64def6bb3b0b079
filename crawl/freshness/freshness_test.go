package freshness_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/traps"
)

// answeredAt is when the answers below arrived.
var answeredAt = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// header reads lines such as "ETag: x".
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	const (
		hour     = time.Hour
		noonDate = "Date: Sat, 21 Nov 2026 12:00:00 GMT"
		atOne    = "Expires: Sat, 21 Nov 2026 13:00:00 GMT"
	)
	for why, c := range map[string]struct {
		header []string
		want   time.Duration
	}{
		"says nothing":                      {nil, 0},
		"max-age":                           {[]string{"Cache-Control: max-age=3600"}, hour},
		"max-age among others":              {[]string{"Cache-Control: public , Max-Age=3600, must-revalidate"}, hour},
		"max-age in another line":           {[]string{"Cache-Control: public", "Cache-Control: max-age=3600"}, hour},
		"max-age quoted":                    {[]string{`Cache-Control: max-age="3600"`}, hour},
		"max-age of nothing":                {[]string{"Cache-Control: max-age=", atOne}, 0},
		"max-age that is no number":         {[]string{"Cache-Control: max-age=1h", atOne}, 0},
		"max-age below zero":                {[]string{"Cache-Control: max-age=-5", atOne}, 0},
		"max-age of zero wins over Expires": {[]string{"Cache-Control: max-age=0", atOne}, 0},
		"max-age wins over Expires":         {[]string{"Cache-Control: max-age=60", atOne}, time.Minute},
		"the first of two":                  {[]string{"Cache-Control: max-age=3600, max-age=7200"}, hour},
		"max-age of a hundred years":        {[]string{"Cache-Control: max-age=3153600000"}, freshness.Max},
		"max-age beyond numbers":            {[]string{"Cache-Control: max-age=99999999999999999999999"}, freshness.Max},
		"no-store":                          {[]string{"Cache-Control: max-age=3600, no-store"}, 0},
		"no-cache":                          {[]string{"Cache-Control: no-cache, max-age=3600", atOne}, 0},
		"no-cache for a field":              {[]string{`Cache-Control: max-age=3600, no-cache="Set-Cookie"`}, 0},
		"for shared caches only":            {[]string{"Cache-Control: s-maxage=3600"}, 0},
		"less the Age":                      {[]string{"Cache-Control: max-age=3600", "Age: 600"}, 50 * time.Minute},
		"older than fresh":                  {[]string{"Cache-Control: max-age=60", "Age: 600"}, 0},
		"a huge Age":                        {[]string{"Expires: Sat, 01 Jan 0001 00:00:00 GMT", "Age: 99999999999999999999"}, 0},
		"an Age that is no number":          {[]string{"Cache-Control: max-age=3600", "Age: -600"}, hour},
		"varies with anything":              {[]string{"Cache-Control: max-age=3600", "Vary: Accept, *"}, 0},
		"varies with something":             {[]string{"Cache-Control: max-age=3600", "Vary: Accept-Encoding"}, hour},
		"Expires":                           {[]string{atOne}, hour},
		"Expires by the server's own clock": {[]string{atOne, "Date: Sat, 21 Nov 2026 12:30:00 GMT"}, 30 * time.Minute},
		"Expires with a broken Date":        {[]string{atOne, "Date: noon"}, hour},
		"Expires now":                       {[]string{"Expires: Sat, 21 Nov 2026 12:00:00 GMT", noonDate}, 0},
		"Expires in the past":               {[]string{"Expires: Thu, 01 Jan 1970 00:00:00 GMT", noonDate}, 0},
		"Expires 0":                         {[]string{"Expires: 0"}, 0},
		"Expires -1":                        {[]string{"Expires: -1"}, 0},
		"Expires in the year 9999":          {[]string{"Expires: Fri, 31 Dec 9999 23:59:59 GMT", noonDate}, freshness.Max},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			fresh, said := freshness.Lifetime(header(c.header...), answeredAt)
			require.Equal(t, c.want, fresh)
			require.Equal(t, why != "says nothing" && why != "for shared caches only", said)
		})
	}
}

// shouldFetch reports whether a page may be asked for again; if not, by which rule.
func shouldFetch(v crawl.Visit, now time.Time, least time.Duration) (bool, reasons.Reason) {
	if due, why := freshness.Due(v, least); now.Before(due) {
		return false, why
	}
	return true, ""
}

func TestDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	fresh := freshness.NewVisit(header("Cache-Control: max-age=172800"), answeredAt, crawl.ContentHash{})
	plain := freshness.NewVisit(http.Header{}, answeredAt, crawl.ContentHash{})
	forged := crawl.Visit{At: answeredAt, FreshUntil: answeredAt.Add(100 * 365 * day)}
	for why, c := range map[string]struct {
		visit  crawl.Visit
		after  time.Duration
		least  time.Duration
		fetch  bool
		reason reasons.Reason
	}{
		"never fetched":                       {crawl.Visit{}, 0, day, true, ""},
		"never fetched, but said to be fresh": {crawl.Visit{FreshUntil: answeredAt.Add(day)}, 0, day, true, ""},
		"fetched just now":                    {plain, 0, day, false, reasons.MinRefetch},
		"fetched almost a day ago":            {plain, day - 1, day, false, reasons.MinRefetch},
		"fetched a day ago":                   {plain, day, day, true, ""},
		"fetched before now, by our clock":    {plain, -time.Hour, day, false, reasons.MinRefetch},
		"no minimum":                          {plain, 0, 0, true, ""},
		"a minimum below zero":                {plain, 0, -day, true, ""},
		"fresh for longer than the minimum":   {fresh, day, day, false, reasons.Fresh},
		"fresh until now":                     {fresh, 2 * day, day, true, ""},
		"fresh for less than the minimum":     {fresh, 2 * day, 3 * day, false, reasons.MinRefetch},
		"fresh for a hundred years":           {forged, 29 * day, day, false, reasons.Fresh},
		"no page is for more than the cap":    {forged, freshness.Max, day, true, ""},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			fetch, reason := shouldFetch(c.visit, answeredAt.Add(c.after), c.least)
			require.Equal(t, c.fetch, fetch)
			require.Equal(t, c.reason, reason)
		})
	}
}

func TestVisitConditions(t *testing.T) {
	t.Parallel()
	const modified = "Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT"
	for why, c := range map[string]struct {
		answer []string
		want   []string
	}{
		"nothing to ask with":      {nil, nil},
		"a strong tag":             {[]string{`ETag: "a-b"`}, []string{`If-None-Match: "a-b"`}},
		"a weak tag":               {[]string{`ETag: W/"a-b"`}, []string{`If-None-Match: W/"a-b"`}},
		"an empty tag":             {[]string{`ETag: ""`}, []string{`If-None-Match: ""`}},
		"a tag of Apache's gzip":   {[]string{`ETag: "a-gzip"`}, []string{`If-None-Match: "a-gzip", "a"`}},
		"a tag of Apache's brotli": {[]string{`ETag: W/"a-br"`}, []string{`If-None-Match: W/"a-br", W/"a"`}},
		"both":                     {[]string{`ETag: "x"`, modified}, []string{`If-None-Match: "x"`, "If-Modified-Since: Fri, 20 Nov 2026 12:00:00 GMT"}},
		"an old form of date":      {[]string{"Last-Modified: Friday, 20-Nov-26 12:00:00 GMT"}, []string{"If-Modified-Since: Fri, 20 Nov 2026 12:00:00 GMT"}},
		"not yet modified":         {[]string{"Last-Modified: Sat, 21 Nov 2026 12:00:01 GMT"}, nil},
		"a clock that is fast":     {[]string{"Last-Modified: Sat, 21 Nov 2026 12:00:01 GMT", "Date: Sat, 21 Nov 2026 12:00:02 GMT"}, []string{"If-Modified-Since: Sat, 21 Nov 2026 12:00:01 GMT"}},
		"no date":                  {[]string{"Last-Modified: yesterday"}, nil},
		"a tag without quotes":     {[]string{"ETag: abc"}, nil},
		"a tag with one quote":     {[]string{`ETag: "`}, nil},
		"a tag with a quote in it": {[]string{`ETag: "a"b"`}, nil},
		"a tag with a space":       {[]string{`ETag: "a b"`}, nil},
		"a tag with a line break":  {[]string{"ETag: \"a\r\nX-Evil: 1\""}, nil},
		"a tag that is not UTF-8":  {[]string{"ETag: \"\xff\""}, nil},
		"a tag with a control":     {[]string{"ETag: \"\u009b\""}, nil},
		"a tag that is weak twice": {[]string{`ETag: W/W/"a"`}, nil},
		"a tag of a megabyte":      {[]string{`ETag: "` + strings.Repeat("a", 1<<20) + `"`}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			got := http.Header{}
			freshness.Conditions(freshness.NewVisit(header(c.answer...), answeredAt, crawl.ContentHash{}), got)
			require.Equal(t, header(c.want...), got)
		})
	}
}

func TestVisitUnchanged(t *testing.T) {
	t.Parallel()
	old, other := traps.HashContent([]byte("old")), traps.HashContent([]byte("new"))
	const modified = "Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT"
	visit := freshness.NewVisit(header(`ETag: "1"`, modified), answeredAt, old)
	coded := freshness.NewVisit(header(`ETag: "1-gzip"`), answeredAt, old)
	dated := freshness.NewVisit(header(modified), answeredAt, old)
	hot := freshness.NewVisit(header("Last-Modified: Sat, 21 Nov 2026 11:59:30 GMT"), answeredAt, old)
	for why, c := range map[string]struct {
		before  crawl.Visit
		status  int
		header  []string
		content crawl.ContentHash
		want    string
	}{
		"304":                            {visit, 304, nil, crawl.ContentHash{}, "answered 304"},
		"304 though never fetched":       {crawl.Visit{}, 304, nil, crawl.ContentHash{}, ""},
		"the same content":               {visit, 200, nil, old, "same content"},
		"other content":                  {visit, 200, nil, other, ""},
		"content not known":              {crawl.Visit{At: answeredAt}, 200, nil, crawl.ContentHash{}, ""},
		"the first fetch":                {crawl.Visit{}, 200, []string{"Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT"}, old, ""},
		"the same tag":                   {visit, 200, []string{`ETag: "1"`}, other, `same entity tag "1"`},
		"the same tag, now weak":         {visit, 200, []string{`ETag: W/"1"`}, other, `same entity tag "1"`},
		"another tag":                    {visit, 200, []string{`ETag: "2"`}, other, ""},
		"the tag without its coding":     {coded, 200, []string{`ETag: W/"1"`}, other, `same entity tag "1-gzip"`},
		"the tag with another coding":    {coded, 200, []string{`ETag: "1-br"`}, other, `same entity tag "1-gzip"`},
		"another tag, an older date":     {visit, 200, []string{`ETag: "2"`, "Last-Modified: Thu, 19 Nov 2026 12:00:00 GMT"}, other, ""},
		"another tag, the same date":     {visit, 200, []string{`ETag: "2"`, modified}, other, ""},
		"the same date":                  {dated, 200, []string{modified}, other, "last modified on Fri, 20 Nov 2026 12:00:00 GMT, as at the last visit"},
		"the same date, now with a tag":  {dated, 200, []string{`ETag: "2"`, modified}, other, "last modified on Fri, 20 Nov 2026 12:00:00 GMT, as at the last visit"},
		"another date, before the visit": {dated, 200, []string{"Last-Modified: Sat, 21 Nov 2026 11:58:59 GMT"}, other, ""},
		"an older date":                  {dated, 200, []string{"Last-Modified: Thu, 19 Nov 2026 12:00:00 GMT"}, other, ""},
		"the same date, just before":     {hot, 200, []string{"Last-Modified: Sat, 21 Nov 2026 11:59:30 GMT"}, other, ""},
		"modified after it":              {dated, 200, []string{"Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT"}, other, ""},
		"no date where there was one":    {dated, 200, nil, other, ""},
		"an error page":                  {visit, 404, nil, old, ""},
		"a redirect":                     {visit, 301, []string{`ETag: "1"`}, old, ""},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			next := freshness.NewVisit(header(c.header...), answeredAt.Add(48*time.Hour), c.content)
			require.Equal(t, c.want, freshness.Unchanged(c.before, c.status, next))
		})
	}
}

func TestVisitRevalidated(t *testing.T) {
	t.Parallel()
	content := traps.HashContent([]byte("old"))
	later := answeredAt.Add(48 * time.Hour)
	visit := freshness.NewVisit(header(`ETag: "1"`, "Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT", "Cache-Control: max-age=60"), answeredAt, content)

	want := visit
	want.At, want.FreshUntil = later, time.Time{}
	require.Equal(t, want, freshness.UpdateNotModified(visit, http.Header{}, later))

	got := freshness.UpdateNotModified(visit, header(`ETag: "2"`, "Cache-Control: max-age=3600", "Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT"), later)
	require.Equal(t, crawl.Visit{
		At: later, FreshUntil: later.Add(time.Hour), ETag: `"2"`,
		LastModified: time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC), Content: content,
	}, got)

	data, err := json.Marshal(got)
	require.NoError(t, err)
	var read crawl.Visit
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, got, read)
	data, err = json.Marshal(crawl.Visit{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data))
}

func FuzzVisit(f *testing.F) {
	f.Add("max-age=60, public", "Sat, 21 Nov 2026 13:00:00 GMT", "Sat, 21 Nov 2026 12:00:00 GMT", "5", `W/"x"`, "Fri, 20 Nov 2026 12:00:00 GMT", "Accept")
	f.Add("", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "9223372036854775807", "\"\r\n\"", "", "*")
	f.Fuzz(func(t *testing.T, control, expires, date, age, etag, modified, vary string) {
		h := http.Header{
			"Cache-Control": {control}, "Expires": {expires}, "Date": {date}, "Age": {age}, "Etag": {etag},
			"Last-Modified": {modified}, "Vary": {vary},
		}
		fresh, _ := freshness.Lifetime(h, answeredAt)
		require.GreaterOrEqual(t, fresh, time.Duration(0))
		require.LessOrEqual(t, fresh, freshness.Max)
		v := freshness.NewVisit(h, answeredAt, crawl.ContentHash{})
		ok, _ := shouldFetch(v, answeredAt.Add(freshness.Max), 24*time.Hour)
		require.True(t, ok, "whatever a server says, a page is seen again")
		ok, _ = shouldFetch(v, answeredAt, 24*time.Hour)
		require.False(t, ok)
		got := http.Header{}
		freshness.Conditions(v, got)
		for name, values := range got {
			require.Less(t, len(values[0]), 1100, name)
			require.False(t, strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r == 0x7f }), "%s: %q", name, values[0])
		}
	})
}
