package crawl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestOutcomeOfStatus(t *testing.T) {
	t.Parallel()
	for code := -1; code <= 700; code++ {
		want := crawl.OutcomeFailed
		switch code / 100 {
		case 1, 2, 3:
			want = crawl.OutcomeSuccess
		case 4:
			want = crawl.OutcomeBlocked4xx
		case 5:
			want = crawl.OutcomeBlocked5xx
		}
		require.Equal(t, want, crawl.OutcomeOfStatus(code), code)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []crawl.Outcome{
		crawl.OutcomeSuccess, crawl.OutcomeFailed, crawl.OutcomeTimeout, crawl.OutcomeBlockedRobots,
		crawl.OutcomeBlocked4xx, crawl.OutcomeBlocked5xx, crawl.OutcomeSkipped,
	}, crawl.Outcomes())
}
