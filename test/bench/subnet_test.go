package bench_test

import (
	"testing"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// BenchmarkSubnet measures 300 domains of two subnets (/24) at a delay of a second each,
// without subnet_delay and with two. On two cores and without ip_delay it gave 265 pages/s. With a
// subnet_delay of 50 ms it gave 5 of the 40 pages/s that this allows, because the domains poll.
func BenchmarkSubnet(b *testing.B) {
	for _, delay := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond} {
		b.Run("subnet_delay="+delay.String(), func(b *testing.B) {
			run(b, scenario{
				domains: 300, delay: time.Second, prose: true, apart: true,
				settings: settings.Settings{SubnetDelay: new(settings.Duration(delay))},
			})
		})
	}
}

// BenchmarkSharedAddress measures 90 domains on three addresses, which bound them to three requests
// a second: what it costs to wait for a place in a queue.
func BenchmarkSharedAddress(b *testing.B) {
	run(b, scenario{domains: 90, delay: time.Second, perIP: 30, apart: true, warmUp: 100 * time.Second})
}
