package bench_test

import (
	"testing"
	"time"

	"github.com/mosey-web/mosey/test/up"
)

// BenchmarkUp measures how soon the embedded stack is ready on a data directory
// that has been used before.
func BenchmarkUp(b *testing.B) {
	bin, dir := binaries(b), up.Dir(b)
	end(b, startUp(b, bin, dir).up)
	var sum time.Duration
	n := 0
	for b.Loop() {
		r := startUp(b, bin, dir)
		sum += r.ready
		n++
		end(b, r.up)
	}
	b.ReportMetric(sum.Seconds()/float64(n), "s/ready")
	b.Log(machine())
}
