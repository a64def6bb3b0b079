//go:build unix

package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/programs"
)

// Only a start after a crash is said to recover from one.
func TestASlowStartSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.cfg.withDefaults()
	found, err := cfg.sources.find(t.Context(), 0, cfg.Progress)
	require.NoError(t, err)
	bin := newDir(t)
	entries, err := os.ReadDir(found.dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "postgres" {
			require.NoError(t, os.Symlink(found.program(e.Name()), filepath.Join(bin, e.Name())))
		}
	}
	script := "#!/bin/sh\n[ \"$1\" = -D ] && sleep 4\nexec " + found.postgres() + ` "$@"` + "\n"
	programs.Write(t, filepath.Join(bin, "postgres"), []byte(script))
	b.cfg.sources = &sources{bin: bin}

	stop(t, start(t, b.cfg))
	require.Contains(t, b.progress.text(), "waiting for Postgres to start")
	require.NotContains(t, b.progress.text(), "crash")

	pidFile := filepath.Join(dataDir(b.cfg.Dir), "postmaster.pid")
	require.NoError(t, os.WriteFile(pidFile, []byte("1\n"), 0o600), "as a crash of the machine leaves it")
	stop(t, start(t, b.cfg))
	require.Equal(t, 1, strings.Count(b.progress.text(), "waiting for Postgres, which recovers from a crash"))
}
