package docker_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// alert is one rule of prometheus/alerts.yml.
type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "prometheus/alerts.yml")), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// Each alert has a line of the runbook, and a test.
func TestAlertsHaveARunbook(t *testing.T) {
	t.Parallel()
	runbook, tests := read(t, "../docs/alerts.md"), read(t, "prometheus/alerts_test.yml")
	for _, a := range alerts(t) {
		require.Contains(t, runbook, "\n## "+a.Alert+"\n")
		require.Equal(t, "docs/alerts.md#"+strings.ToLower(a.Alert), a.Annotations["runbook"])
		require.Contains(t, []string{"warning", "critical"}, a.Labels["severity"], a.Alert)
		require.Regexp(t, `alertname: `+a.Alert+`\n +exp_alerts:`, tests, "it is raised in a test")
	}
	require.Len(t, alerts(t), strings.Count(runbook, "\n## "), "no line is of an alert that is gone")
}

// What alerts and our dashboard ask for is served.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	asked := []string{read(t, "grafana/dashboards/mosey.json")}
	for _, a := range alerts(t) {
		asked = append(asked, a.Expr)
	}
	names := regexp.MustCompile(`\bmosey_[a-z_]+`).FindAllString(strings.Join(asked, "\n"), -1)
	require.Greater(t, len(names), 20)
	documented := read(t, "../docs/metrics.md")
	for _, name := range names {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		require.True(t, strings.Contains(documented, "| `"+name+"` |") || strings.Contains(documented, "| `"+base+"` | histogram |"), name)
	}
}

func TestDashboards(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("grafana/dashboards/*.json")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		var d struct {
			Title  string
			Panels []struct {
				ID      int
				Title   string
				Type    string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(read(t, name)), &d), name)
		require.NotEmpty(t, d.Title)
		seen := map[int]bool{}
		for _, p := range d.Panels {
			require.False(t, seen[p.ID], "%s: panel %d is there twice", name, p.ID)
			seen[p.ID] = true
		}
	}
}

// The rules are right by Prometheus' own tool, which Debian's package prometheus has.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool (Debian: prometheus)")
	}
	for _, args := range [][]string{
		{"check", "config", "--syntax-only", "prometheus/prometheus.yml"},
		{"check", "rules", "prometheus/alerts.yml"},
		{"test", "rules", "prometheus/alerts_test.yml"},
	} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
