package bench_test

import (
	"testing"
	"time"
)

// BenchmarkUp measures how soon the embedded stack is ready on a data directory
// that has been used before.
func BenchmarkUp(b *testing.B) {
	bin, dir := binaries(b), dataDir(b)
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
