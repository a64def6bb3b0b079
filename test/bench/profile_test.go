package bench_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// groups of packages that the worker's CPU time is split over, tried in order.
var groups = []struct{ name, prefix string }{
	{"parse", "github.com/mosey-web/mosey/internal/extract."},
	{"parse", "github.com/mosey-web/mosey/internal/fetch.ToUTF8"},
	{"fetch", "github.com/mosey-web/mosey/internal/fetch."},
	{"fetch", "github.com/mosey-web/mosey/internal/dns."},
	{"sql", "github.com/mosey-web/mosey/db."},
	{"sdk", "go.temporal.io/"},
	{"sdk", "google.golang.org/grpc"},
}

// split sums a CPU profile's samples by the innermost group on their stacks.
func split(b *testing.B, file string) map[string]time.Duration {
	b.Helper()
	f, err := os.Open(file)
	require.NoError(b, err)
	defer f.Close()
	p, err := profile.Parse(f)
	require.NoError(b, err)
	sums := map[string]time.Duration{}
	for _, s := range p.Sample {
		sums[groupOf(s)] += time.Duration(s.Value[len(s.Value)-1])
	}
	return sums
}

func groupOf(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			for _, g := range groups {
				if strings.HasPrefix(line.Function.Name, g.prefix) {
					return g.name
				}
			}
		}
	}
	return "runtime"
}
