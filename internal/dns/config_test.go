package dns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreValid", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, Config{}.WithDefaults().Validate())
		require.NoError(t, Config{Servers: []string{"192.0.2.1:53", "[2001:db8::1]:53"}}.WithDefaults().Validate())
	})

	t.Run("DefaultsAreThoseOfThePolicy", func(t *testing.T) {
		t.Parallel()
		c := Config{}.WithDefaults()
		require.Equal(t, []time.Duration{300 * time.Second, 3600 * time.Second}, []time.Duration{c.MinTTL, c.MaxTTL})
		require.Equal(t, []time.Duration{60 * time.Second, 300 * time.Second}, []time.Duration{c.MinNegativeTTL, c.MaxNegativeTTL})
		require.Equal(t, 24*time.Hour, c.MaxStale)
	})

	for field, config := range map[string]Config{
		"CacheBytes":                 {CacheBytes: -1},
		"DomainRate":                 {DomainRate: -2},
		"MaxStale":                   {MaxStale: -2},
		"MinNegativeTTL":             {MinNegativeTTL: time.Hour},
		"MinTTL":                     {MinTTL: 2 * time.Hour},
		"Rate":                       {Rate: -0.5},
		"Servers":                    {Servers: []string{"192.0.2.1"}},
		"Servers must be at most 16": {Servers: make([]string, 17)},
		"StalePause":                 {StalePause: -1},
		"Timeout":                    {Timeout: -1},
		"Tries":                      {Tries: 11},
		"TryTimeout":                 {TryTimeout: -1},
	} {
		t.Run("RejectsBad"+field, func(t *testing.T) {
			t.Parallel()
			_, err := New(config)
			require.ErrorContains(t, err, field)
		})
	}

	t.Run("NamesEveryBadField", func(t *testing.T) {
		t.Parallel()
		err := Config{}.Validate()
		for _, field := range []string{"CacheBytes", "DomainRate", "HostsFile", "MaxStale", "MinTTL", "ResolvConf", "Timeout"} {
			require.ErrorContains(t, err, field)
		}
	})
}
