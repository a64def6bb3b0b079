package docker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// checker builds the program of test/manifests, once.
var checker = sync.OnceValues(func() (program string, err error) {
	dir, err := os.MkdirTemp("", "mosey-manifests-")
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "manifests")
	out, err := exec.Command("go", "-C", "../test/manifests", "build", "-o", program, ".").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
	}
	return program, err
})

// checked runs the checker, and returns what it says.
func checked(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	program, err := checker()
	require.NoError(t, err)
	said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(said), err
}

func manifests(t *testing.T) (names []string) {
	t.Helper()
	all, err := filepath.Glob("kubernetes/*/*.yaml")
	require.NoError(t, err)
	names = slices.DeleteFunc(all, func(name string) bool { return filepath.Base(name) == "kustomization.yaml" })
	require.Greater(t, len(names), 9)
	return names
}

// The compose file is right by the loader of Docker Compose.
func TestComposeLoads(t *testing.T) {
	t.Parallel()
	out, err := checked(t, "compose", "compose.yaml")
	require.NoError(t, err, out)
	require.Contains(t, out, "\nworker\n")

	wrong := filepath.Join(t.TempDir(), "compose.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("services: { a: { image: a, depends_on: [b] } }"), 0o600))
	out, err = checked(t, "compose", wrong)
	require.Error(t, err)
	require.Contains(t, out, `depends on undefined service "b"`)
}

// The manifests are right by Kubernetes' own types.
func TestManifestsDecode(t *testing.T) {
	t.Parallel()
	out, err := checked(t, append([]string{"kubernetes"}, manifests(t)...)...)
	require.NoError(t, err, out)

	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	text := strings.Replace(read(t, "kubernetes/base/fetch.yaml"), "terminationGracePeriodSeconds", "terminationGraceSeconds", 1)
	require.NoError(t, os.WriteFile(wrong, []byte(text), 0o600))
	out, err = checked(t, "kubernetes", wrong)
	require.Error(t, err)
	require.Contains(t, out, `unknown field "terminationGraceSeconds"`)
}

// All files are named by a kustomization, but for the example of a secret.
func TestKustomizationsNameAllFiles(t *testing.T) {
	t.Parallel()
	for _, name := range manifests(t) {
		resources := kustomization(t, filepath.Dir(name))
		if file := filepath.Base(name); file == "secret.example.yaml" {
			require.NotContains(t, resources, file)
		} else {
			require.Contains(t, resources, file, name)
		}
	}
}

func kustomization(t *testing.T, dir string) (resources []string) {
	t.Helper()
	var k struct{ Resources []string }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(dir, "kustomization.yaml"))), &k))
	for _, resource := range k.Resources {
		_, err := os.Stat(filepath.Join(dir, resource))
		require.NoError(t, err)
	}
	return k.Resources
}

// pod is what is looked at of a pod's template.
type pod struct {
	AutomountServiceAccountToken *bool
	SecurityContext              struct {
		RunAsNonRoot   bool
		RunAsUser      int
		SeccompProfile struct{ Type string }
	}
	TerminationGracePeriodSeconds int
	Containers                    []struct {
		Name, Image string
		Ports       []struct {
			Name          string
			ContainerPort int
		}
		LivenessProbe, ReadinessProbe *struct {
			HTTPGet   *struct{ Path, Port string }
			TCPSocket *struct{ Port string }
		}
		Resources struct {
			Requests, Limits map[string]string
		}
		SecurityContext struct {
			AllowPrivilegeEscalation *bool
			ReadOnlyRootFilesystem   bool
			Capabilities             struct{ Drop []string }
		}
	}
}

// decode reads YAML as Kubernetes does: as JSON.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	var tree any
	require.NoError(t, yaml.Unmarshal([]byte(text), &tree))
	data, err := json.Marshal(tree)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// pods are the templates of all Deployments and Jobs, by their names.
func pods(t *testing.T) (all map[string]pod) {
	t.Helper()
	all = map[string]pod{}
	for _, name := range manifests(t) {
		for text := range strings.SplitSeq(read(t, name), "\n---\n") {
			var m struct {
				Kind     string
				Metadata struct{ Name string }
				Spec     struct{ Template struct{ Spec pod } }
			}
			decode(t, text, &m)
			if m.Kind == "Deployment" || m.Kind == "Job" {
				all[m.Metadata.Name] = m.Spec.Template.Spec
			}
		}
	}
	require.Len(t, all, 4)
	return all
}

// No pod has more rights than it needs, and each is bounded and watched.
func TestPodsAreConfined(t *testing.T) {
	t.Parallel()
	for name, p := range pods(t) {
		require.NotNil(t, p.AutomountServiceAccountToken, name)
		require.False(t, *p.AutomountServiceAccountToken, name)
		require.True(t, p.SecurityContext.RunAsNonRoot, name)
		require.Equal(t, 65532, p.SecurityContext.RunAsUser, "%s: the user of the Dockerfile", name)
		require.Equal(t, "RuntimeDefault", p.SecurityContext.SeccompProfile.Type, name)
		require.Len(t, p.Containers, 1, name)
		c := p.Containers[0]
		require.NotNil(t, c.SecurityContext.AllowPrivilegeEscalation, name)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
		require.True(t, c.SecurityContext.ReadOnlyRootFilesystem, name)
		require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
		require.NotEmpty(t, c.Resources.Requests["cpu"], name)
		require.NotEmpty(t, c.Resources.Requests["memory"], name)
		require.NotEmpty(t, c.Resources.Limits["memory"], name)
		if name == "mosey-migrate" {
			continue // it ends by itself
		}
		require.NotNil(t, c.LivenessProbe, name)
		require.NotNil(t, c.ReadinessProbe, name)
		require.NotNil(t, c.ReadinessProbe.HTTPGet, name)
		require.Len(t, c.Ports, 1, name)
		require.Equal(t, c.Ports[0].Name, c.ReadinessProbe.HTTPGet.Port, name)
		if c.Image == "mosey-worker" {
			require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
			require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
			require.Regexp(t, `MOSEY_METRICS: 0\.0\.0\.0:9464\b`, read(t, "kubernetes/base/config.yaml"))
			require.Equal(t, 9464, c.Ports[0].ContainerPort)
			require.Greater(t, p.TerminationGracePeriodSeconds, 25, "--drain and the five seconds after it")
		}
	}
}

// What workers are scaled by is served, and Prometheus can read the questions.
func TestScaledByWhatIsServed(t *testing.T) {
	t.Parallel()
	var scaled struct {
		Spec struct {
			ScaleTargetRef struct{ Name string }
			Triggers       []struct {
				Name     string
				Metadata map[string]string
			}
		}
	}
	decode(t, read(t, "kubernetes/scale/fetch.yaml"), &scaled)
	require.Contains(t, pods(t), scaled.Spec.ScaleTargetRef.Name)
	require.Len(t, scaled.Spec.Triggers, 3)
	documented := read(t, "../docs/metrics.md")
	rules := map[string]any{}
	var questions []map[string]string
	for _, trigger := range scaled.Spec.Triggers {
		query := trigger.Metadata["query"]
		for _, name := range regexp.MustCompile(`\bmosey_[a-z_]+`).FindAllString(query, -1) {
			require.Contains(t, documented, "| `"+strings.TrimSuffix(name, "_bucket")+"` |", trigger.Name)
		}
		questions = append(questions, map[string]string{"record": "scale:" + strings.ReplaceAll(trigger.Name, "-", "_"), "expr": query})
	}
	rules["groups"] = []any{map[string]any{"name": "scale", "rules": questions}}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool (Debian: prometheus)")
	}
	text, err := yaml.Marshal(rules)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// kubectl, where there is one, puts together what the kustomizations name.
func TestKustomize(t *testing.T) {
	t.Parallel()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("there is no kubectl")
	}
	for dir, kinds := range map[string]int{"kubernetes/base": 12, "kubernetes/scale": 13} {
		out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, kinds, strings.Count("\n"+string(out), "\nkind: "), dir)
		file := filepath.Join(t.TempDir(), "all.yaml")
		require.NoError(t, os.WriteFile(file, out, 0o600))
		said, err := checked(t, "kubernetes", file)
		require.NoError(t, err, said)
	}
}

// What docker/.env may hold is what the compose file asks for.
func TestEnvExample(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	compose := read(t, "compose.yaml")
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)|(?m)^ +([A-Z_]+):$`).FindAllStringSubmatch(compose, -1) {
		asked[m[1]+m[2]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^#?([A-Z_]+)=`).FindAllStringSubmatch(read(t, ".env.example"), -1) {
		require.True(t, asked[m[1]], "%s is read by nothing in the compose file", m[1])
		delete(asked, m[1])
	}
	for name := range asked {
		require.True(t, strings.HasPrefix(name, "OTEL_"), ".env.example lacks %s", name)
	}
}
