package crawl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

// The dates of directives are tested where they are read: in package usage.
func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, time.September, 3, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"2026-09-03", "2026/09/03", "20260903", " 2026-09-03T00:00 ", "2026-09-03 00:00:00Z", "2026-09-03 02:00:00+02:00", "2026-09-03 02:00:00 +0200",
		"Thu, 03 Sep 2026 00:00:00 GMT", "Thu, 03 Sep 2026 02:00:00 +0200", "September 3, 2026", "3 September 2026", "2026-09-03T00:00:00.000Z",
		"Sep 3, 2026", "Thursday, Sep 3, 2026", "Thurs, Sep 3, 2026", "Sept. 3, 2026", "Sep. 3 2026", "September 3, 2026 00:00", "2026/9/3", "2026-9-3", "2026.09.03",
	} {
		require.Equal(t, want, crawl.ParsePublicationDate(text), text)
	}
	require.Equal(t, time.Date(2026, time.September, 1, 0, 0, 0, 0, time.UTC), crawl.ParsePublicationDate("2026-09"))
	for _, text := range []string{"", "2026", "soon", "1979-12-31", "2101-01-01", "2026-13-01", "03.09.2026"} {
		require.Zero(t, crawl.ParsePublicationDate(text), text)
	}
}
