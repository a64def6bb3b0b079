package decide_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
)

func TestRefuseAddress(t *testing.T) {
	t.Parallel()
	addr := netip.MustParseAddr("10.1.2.3")
	for name, c := range map[string]struct{ since, wait time.Duration }{
		"AtFirst":    {0, 15 * time.Minute},
		"SoonAgain":  {time.Minute, 15 * time.Minute},
		"ForAnHour":  {time.Hour, time.Hour},
		"ForAWeek":   {7 * 24 * time.Hour, 24 * time.Hour},
		"OnTheBound": {24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := crawl.Facts{Now: time.Now()}
			if c.since > 0 {
				f.Domain.RefusedSince = f.Now.Add(-c.since)
			}
			d := decide.RefuseAddress(f, "www.example.org", crawl.Refusal{Addr: addr})
			require.Equal(t, decide.DeferDomain, d.Action)
			require.Equal(t, f.Now.Add(c.wait), d.Until)
			require.Equal(t, reasons.Deferred, d.Reason)
			require.Equal(t, "www.example.org has the address 10.1.2.3, which is not public: "+
				"--allow-network 10.1.2.3/32 permits requests to it", d.Explanation)
		})
	}
}
