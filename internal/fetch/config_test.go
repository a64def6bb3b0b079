package fetch_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreThePromisedLimits", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, fetch.Config{
			ConnectTimeout:   5 * time.Second,
			FirstByteTimeout: 10 * time.Second,
			IdleTimeout:      10 * time.Second,
			MaxBodyBytes:     10_000_000,
			MaxBytesInFlight: 256_000_000,
			TotalTimeout:     30 * time.Second,
		}, fetch.Config{}.WithDefaults())
	})

	t.Run("KeepsWhatIsSet", func(t *testing.T) {
		t.Parallel()
		config := fetch.Config{
			ConnectTimeout: 1, FirstByteTimeout: 2, MaxBodyBytes: 3, TotalTimeout: 6, IdleTimeout: 7, MaxBytesInFlight: 8,
		}
		require.Equal(t, config, config.WithDefaults())
	})

	t.Run("NamesEveryFault", func(t *testing.T) {
		t.Parallel()
		_, err := fetch.New(fetch.Config{
			AllowNetworks:    []netip.Prefix{loopback, {}, netip.MustParsePrefix("::ffff:10.0.0.0/104")},
			ConnectTimeout:   -1,
			FirstByteTimeout: -1,
			IdleTimeout:      -1,
			MaxBodyBytes:     -1,
			MaxBytesInFlight: -1,
			TotalTimeout:     -1,
		})
		for _, field := range []string{
			"AllowNetworks[1]", "AllowNetworks[2]", "ConnectTimeout", "FirstByteTimeout", "MaxBodyBytes", "IdleTimeout",
			"MaxBytesInFlight", "TotalTimeout", "UserAgent",
		} {
			require.ErrorContains(t, err, field)
		}
		require.NotContains(t, err.Error(), "AllowNetworks[0]")
	})

	t.Run("RefusesAUserAgentThatBreaksTheHeader", func(t *testing.T) {
		t.Parallel()
		_, err := fetch.New(fetch.Config{UserAgent: "mosey\r\nHost: other"})
		require.ErrorContains(t, err, "UserAgent")
	})

	t.Run("BoundsTheBodyLimit", func(t *testing.T) {
		t.Parallel()
		_, err := fetch.New(fetch.Config{UserAgent: "mosey", MaxBodyBytes: 1<<30 + 1})
		require.ErrorContains(t, err, "MaxBodyBytes")
	})
}
