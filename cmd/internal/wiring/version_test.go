package wiring

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommit(t *testing.T) {
	t.Parallel()
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123abc"}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	require.Equal(t, "0123abc", commit([]debug.BuildSetting{revision, clean}))
	require.Equal(t, "0123abc-dirty", commit([]debug.BuildSetting{dirty, revision}))
	require.Empty(t, commit(nil))
}

func TestVersionsOfAProgramThatKnowsNoCommitHaveNoLineForIt(t *testing.T) {
	t.Parallel()
	v := Versions{Version: "1.2.3", Commit: "0123abc-dirty", Go: "go1", Platform: "plan9/arm", Schema: 4, Extractor: 5}
	require.Equal(t, "worker 1.2.3\ncommit     0123abc-dirty\nbuilt with go1 for plan9/arm\nschema     4\nextractor  5", v.Text("worker"))
	v.Commit = ""
	require.Equal(t, "worker 1.2.3\nbuilt with go1 for plan9/arm\nschema     4\nextractor  5", v.Text("worker"))
}
