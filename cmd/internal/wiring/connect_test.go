package wiring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, mistake := range []error{db.ErrURL, db.ErrPooler} {
		require.True(t, wiring.IsUsage(wiring.Describe(fmt.Errorf("open: %w", mistake))), mistake)
	}
}

func TestTemporalAddress(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	const profiles = "[profile.default]\naddress = \"a.test:1\"\n[profile.other]\naddress = \"b.test:2\"\n"
	require.NoError(t, os.WriteFile(file, []byte(profiles), 0o600))
	for _, c := range []struct {
		env  wiring.Env
		want string
	}{
		{nil, ""},
		{wiring.Env{"TEMPORAL_ADDRESS=c.test:3"}, "c.test:3"},
		{wiring.Env{"TEMPORAL_CONFIG_FILE=" + file}, "a.test:1"},
		{wiring.Env{"TEMPORAL_CONFIG_FILE=" + file, "TEMPORAL_PROFILE=other"}, "b.test:2"},
		{wiring.Env{"TEMPORAL_CONFIG_FILE=" + file, "TEMPORAL_PROFILE=other", "TEMPORAL_ADDRESS=c.test:3"}, "c.test:3"},
		{wiring.Env{"TEMPORAL_CONFIG_FILE=" + file, "TEMPORAL_PROFILE=nowhere"}, "localhost:7233"},
	} {
		require.Equal(t, c.want, wiring.TemporalAddress(c.env), c.env)
	}
}
