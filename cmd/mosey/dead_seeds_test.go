package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// A healthy seed does not wait for others, which hang or have no name.
func TestDeadSeeds(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := site{web.StartT(t, web.Options{Sites: []web.Site{
		{Pages: 3, Plain: true},
		{Pages: -1, Plain: true, Robots: web.RobotsHang},
		{Pages: -1, Plain: true, DNS: web.DNSMissing},
	}, CrossLinks: -1})}
	c := h.Start(s.crawl(append([]string{"--timeout", "1m"}, s.Seeds()...)...)...)
	bySite := func() (healthy, hanging web.Log) {
		for _, record := range s.Log() {
			if record.Domain() == siteDomain {
				healthy = append(healthy, record)
			} else {
				hanging = append(hanging, record)
			}
		}
		return healthy, hanging
	}
	wait.Until(t, func() bool {
		healthy, hanging := bySite()
		return len(healthy.Pages()) == 4 && len(hanging) > 0
	}, patience, 10*time.Millisecond)
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	healthy, hanging := bySite()
	require.Less(t, healthy.Pages()[0].Start, hanging[0].End, "the healthy site is crawled while another hangs")
}
