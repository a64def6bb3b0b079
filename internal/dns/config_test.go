package dns

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("AcceptsServersOrNone", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, Config{}.Validate())
		require.NoError(t, Config{Servers: []string{"192.0.2.1:53", "[2001:db8::1]:53"}}.Validate())
	})

	for fault, servers := range map[string][]string{
		"Servers":                    {"192.0.2.1"},
		"Servers must be at most 16": make([]string, 17),
	} {
		t.Run("RejectsBad"+fault, func(t *testing.T) {
			t.Parallel()
			_, err := New(Config{Servers: servers})
			require.ErrorContains(t, err, fault)
		})
	}
}
