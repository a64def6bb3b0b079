package temporal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
)

// Of all that the server measures, what is wanted is passed on, with the tags that are wanted.
func TestMeasures(t *testing.T) {
	t.Parallel()
	require.Equal(t, metrics.NoopMetricsHandler, metricsHandler(Config{}), "nobody watches")
	var took []string
	h := metricsHandler(Config{MetricReader: func(measure string) ([]string, func([]string, float64)) {
		if measure != "service_latency" && measure != "service_requests" {
			return nil, nil
		}
		return []string{"operation", "service_name"}, func(tags []string, value float64) {
			took = append(took, fmt.Sprint(measure, tags, value))
		}
	}})
	tagged := h.WithTags(metrics.ServiceNameTag("frontend"), metrics.NamespaceTag("secret"))
	metrics.ServiceRequests.With(tagged).Record(2, metrics.OperationTag("A"))
	metrics.ServiceLatency.With(tagged.WithTags(metrics.OperationTag("A"))).Record(time.Second, metrics.OperationTag("B"))
	metrics.ServiceRequests.With(h).Record(1)
	metrics.ServiceFailures.With(tagged).Record(1)
	metrics.CacheSize.With(tagged).Record(1)
	batch := tagged.StartBatch("a batch")
	metrics.HistorySize.With(batch).Record(1)
	require.NoError(t, batch.Close())
	h.Stop(log.NewNoopLogger())
	require.Equal(t, []string{"service_requests[A frontend] 2", "service_latency[B frontend] 1", "service_requests[ ] 1"}, took)
}
