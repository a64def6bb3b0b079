package wiring

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// An RDAP service may redirect anywhere, but only permitted addresses are connected to.
func TestRegistryConnectsToPermittedAddresses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	f := FetchFlags{RDAP: s.URL, Timeout: 1e9}
	fetcher, resolver, err := f.NewFetcher(nil)
	require.NoError(t, err)
	_, err = f.registry(fetcher, resolver).RegisteredAt(t.Context(), "example.org")
	require.ErrorContains(t, err, "127.0.0.1")
	require.NotContains(t, err.Error(), "status 404")

	f.AllowNetwork = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	fetcher, resolver, err = f.NewFetcher(nil)
	require.NoError(t, err)
	_, err = f.registry(fetcher, resolver).RegisteredAt(t.Context(), "example.org")
	require.ErrorContains(t, err, "status 404")
	require.Nil(t, FetchFlags{}.registry(fetcher, resolver).RegisteredAt)
}
