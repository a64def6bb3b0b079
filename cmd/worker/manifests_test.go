package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// TestManifests checks that the worker accepts the arguments and settings in the files of Docker
// and Kubernetes.
func TestManifests(t *testing.T) {
	t.Parallel()
	docker := filepath.Join("..", "..", "docker")
	var config struct{ Data map[string]string }
	unmarshal(t, filepath.Join(docker, "kubernetes", "base", "config.yaml"), &config)
	require.NotEmpty(t, config.Data)
	environ := wiring.Env{"DATABASE_URL=postgres://mosey@postgres/mosey"}
	for name, value := range config.Data {
		environ = append(environ, name+"="+value)
	}
	for _, name := range []string{"fetch.yaml", "control.yaml"} {
		var deployment struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		unmarshal(t, filepath.Join(docker, "kubernetes", "base", name), &deployment)
		f := parsed(t, environ, deployment.Spec.Template.Spec.Containers[0].Args)
		require.Equal(t, strings.TrimSuffix(name, ".yaml"), string(f.Role))
		require.Equal(t, config.Data["MOSEY_METRICS"], f.Metrics)
	}

	// the health check has nothing but what the worker has
	var compose struct {
		Mosey    struct{ Environment map[string]string } `yaml:"x-mosey"` //nolint:tagliatelle // as compose has it
		Services map[string]struct {
			Healthcheck struct{ Test []string }
		}
	}
	unmarshal(t, filepath.Join(docker, "compose.yaml"), &compose)
	environ = nil
	for name, value := range compose.Mosey.Environment {
		environ = append(environ, name+"="+regexp.MustCompile(`\$\{.*\}`).ReplaceAllString(value, ""))
		config.Data[name] = value
	}
	check := compose.Services["worker"].Healthcheck.Test
	require.Equal(t, []string{"CMD", "/usr/local/bin/worker"}, check[:2])
	require.True(t, parsed(t, environ, check[2:]).Health)

	var f flags
	parser, err := wiring.NewParser(&f, nil, nil)
	require.NoError(t, err)
	known := []string{"DATABASE_URL", "TMPDIR", "PGPASSWORD"}
	for _, flag := range parser.Model.Flags {
		known = append(known, flag.Envs...)
	}
	for name := range config.Data {
		if !regexp.MustCompile(`^(TEMPORAL|OTEL|AWS)_`).MatchString(name) { // which others read
			require.Contains(t, known, name)
		}
	}
}

func unmarshal(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, into))
}

// parsed are the flags that the worker makes of its arguments and its environment.
func parsed(t *testing.T, environ wiring.Env, args []string) (f flags) {
	t.Helper()
	parser, err := wiring.NewParser(&f, environ, nil, kong.Name("worker"))
	require.NoError(t, err)
	_, err = parser.Parse(args)
	require.NoError(t, err)
	return f
}
