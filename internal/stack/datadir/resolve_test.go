package datadir

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlatformDefault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		goos string
		euid int
		env  map[string]string
		want string
	}{
		"RootIsNotBelowItsHome": {
			goos: "linux", env: map[string]string{"HOME": "/root"},
			want: "/var/lib/mosey",
		},
		"LinuxFollowsXDG": {
			goos: "linux", euid: 1000,
			env:  map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "/data/a"},
			want: "/data/a/mosey",
		},
		"LinuxIgnoresRelativeXDG": {
			goos: "linux", euid: 1000,
			env:  map[string]string{"HOME": "/home/a", "XDG_DATA_HOME": "data"},
			want: "/home/a/.local/share/mosey",
		},
		"MacOS": {
			goos: "darwin", euid: 501, env: map[string]string{"HOME": "/Users/a"},
			want: "/Users/a/Library/Application Support/mosey",
		},
		"Windows": {
			goos: "windows", euid: -1,
			env:  map[string]string{"LocalAppData": "/c/local"},
			want: "/c/local/mosey",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := platformDefault(test.goos, test.euid,
				func(name string) string { return test.env[name] })
			require.NoError(t, err)
			require.Equal(t, filepath.FromSlash(test.want), got)
		})
	}

	t.Run("SaysWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		_, err := platformDefault("linux", 1000, func(string) string { return "" })
		require.ErrorContains(t, err, "$HOME")
		require.ErrorContains(t, err, "--data-dir")
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	got, err := Resolve("relative")
	require.NoError(t, err)
	want, err := filepath.Abs("relative")
	require.NoError(t, err)
	require.Equal(t, want, got)
}
