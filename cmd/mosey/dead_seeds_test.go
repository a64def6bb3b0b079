package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
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
	c := h.Start(s.crawl(append([]string{"--for", "8s"}, s.Seeds()...)...)...)
	r := c.Wait()
	require.Zero(t, r.Code, r.Stderr)
	var healthy, hanging web.Log
	for _, record := range s.Log() {
		if record.Domain() == siteDomain {
			healthy = append(healthy, record)
		} else {
			hanging = append(hanging, record)
		}
	}
	require.Len(t, healthy.Pages(), 4)
	require.NotEmpty(t, hanging)
	require.Less(t, healthy.Pages()[0].Start, hanging[0].End, "the healthy site is crawled while another hangs")
}
