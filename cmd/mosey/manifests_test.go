package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// TestManifests checks that mosey accepts the arguments in the Kubernetes manifests.
func TestManifests(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"serve.yaml": "serve", "migrate.yaml": "migrate"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docker", "kubernetes", "base", name))
		require.NoError(t, err)
		text, _, _ := strings.Cut(string(data), "\n---\n")
		var workload struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(text), &workload))
		parser, err := wiring.NewParser(newCLI(), nil, nil, kong.Name("mosey"), enums)
		require.NoError(t, err)
		kctx, err := parser.Parse(workload.Spec.Template.Spec.Containers[0].Args)
		require.NoError(t, err, name)
		require.Equal(t, command, kctx.Command())
	}
}
