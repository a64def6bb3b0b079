package doctor

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/botauth"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, key, err := botauth.NewKeyFile(time.Now())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.jwk"), text, 0o600))
	body, err := botauth.Directory(dir, time.Now())
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		switch r.URL.Path {
		case "/plain":
			w.Header().Set("Content-Type", "text/plain")
		case "/page":
			body := []byte("<p>Welcome")
			_, _ = w.Write(body)
			return
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	p := &Patient{Fetch: wiring.FetchFlags{
		SignFlags:    wiring.SignFlags{Sign: dir, SignatureAgent: "https://crawler.example.org", SignForm: botauth.FormArchitecture02},
		AllowNetwork: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Timeout: 5 * time.Second,
	}}
	look := func(path, keyID string) []Finding {
		found, err := p.lookDirectory(t.Context(), server.URL+path, keyID)
		require.NoError(t, err)
		return found
	}
	requireFinding(t, look("/", key.ID), OK, "requests are signed by the key "+key.ID)
	requireFinding(t, look("/", "another"), Fault, "has 1 keys, and not another", "mosey identity directory")
	requireFinding(t, look("/plain", key.ID), Warning, "text/plain", botauth.DirectoryType)
	requireFinding(t, look("/page", key.ID), Fault, "no directory of keys")
	requireFinding(t, look("/moved", key.ID), Fault, "302")

	keyID, directory, err := p.Fetch.SignedBy()
	require.NoError(t, err)
	require.Equal(t, key.ID, keyID)
	require.Equal(t, "https://crawler.example.org"+botauth.DirectoryPath, directory)
	p.Fetch.SignFlags = wiring.SignFlags{}
	requireFinding(t, p.look(t, "signature"), OK, "not signed")
}
