package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/test/otlp"
	"github.com/mosey-web/mosey/test/output"
)

func TestTraces(t *testing.T) {
	t.Parallel()

	t.Run("OfACrawl", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		received := otlp.Start(t)
		h.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", received.URL)
		r := h.Execute(s.crawl(s.Seeds()[0], "--log-level", "debug", "--log-format", "json")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stderr, `"msg":"requested"`, `"url":"`+s.Seeds()[0]+`"`, `"trace_id":"`)

		all := received.Traces(t)
		require.Len(t, all, len(s.Log()), "each request has a trace, sent before the command ends")
		statements := 0
		for _, tr := range all {
			require.Equal(t, "mosey", tr.Root.Resource["service.name"])
			require.Equal(t, wiring.Version(), tr.Root.Resource["service.version"])
			require.Equal(t, s.Hosts()[0], tr.Root.Attrs["mosey.domain"])
			require.Equal(t, "domain/"+s.Hosts()[0], tr.Root.Attrs["temporal.workflow_id"])
			for _, phase := range []string{"permit", "resolve", "lease", "GET", "read", "record"} {
				for _, statement := range tr.Of(tr.Child(t, tr.Root, phase)) {
					if statement.Attrs["db.system.name"] == "postgresql" {
						require.Equal(t, statement.Name, statement.Attrs["db.query.summary"])
						require.NotEqual(t, "GET", phase)
						statements++
					}
				}
			}
			if tr.Root.Attrs["mosey.kind"] == "robots" {
				lease := tr.Child(t, tr.Root, "lease")
				require.Contains(t, tr.Names(lease), "RobotsGet", "a statement of one attempt alone")
			}
		}
		require.Positive(t, statements)
	})

	t.Run("ThatCannotBeMadeAreRefused", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
		for _, command := range []string{"up", "crawl"} {
			args := []string{command}
			if command == "crawl" {
				args = append(args, "https://example.org/")
			}
			h.Refuse(args, `OTEL_TRACES_EXPORTER "zipkin": want otlp or none`)
		}
	})
}
