package doctor

import (
	"maps"
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
	// a directory that is signed for the host of the test, and one for another
	proof := map[string]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), proof[r.URL.Path])
		if proof[r.URL.Path] != nil {
			_, _ = w.Write(body)
			return
		}
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
	for path, agent := range map[string]string{"/signed": server.URL, "/foreign": "http://elsewhere.test"} {
		_, proof[path], err = botauth.SignedDirectory(dir, agent, time.Now(), time.Hour)
		require.NoError(t, err)
	}
	_, proof["/late"], err = botauth.SignedDirectory(dir, server.URL, time.Now().Add(-2*time.Hour), time.Hour)
	require.NoError(t, err)
	p := &Target{Fetch: wiring.FetchFlags{
		SignFlags:    wiring.SignFlags{Sign: dir, SignatureAgent: "https://crawler.example.org", SignForm: botauth.FormArchitecture02},
		AllowNetwork: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Timeout: 5 * time.Second,
	}}
	look := func(path, keyID string) []Finding {
		found, err := p.checkDirectory(t.Context(), server.URL+path, keyID)
		require.NoError(t, err)
		return found
	}
	requireFinding(t, look("/", key.ID), OK, "requests are signed with the key "+key.ID)
	requireFinding(t, look("/", key.ID), Note, "is not signed by the key", "--headers")
	requireFine(t, look("/signed", key.ID))
	requireFinding(t, look("/signed", key.ID), OK, "is signed by the key for its host")
	requireFinding(t, look("/foreign", key.ID), Fault, "that verifiers refuse", "the signature is invalid", "each day")
	requireFinding(t, look("/late", key.ID), Fault, "expired at")
	requireFinding(t, look("/", "another"), Fault, "has 1 keys, and lacks the signing key another", "mosey identity directory")
	requireFinding(t, look("/plain", key.ID), Warning, "text/plain", botauth.DirectoryType)
	requireFinding(t, look("/page", key.ID), Fault, "not a directory of keys")
	requireFinding(t, look("/moved", key.ID), Fault, "302")

	keyID, directory, err := p.Fetch.SigningKey()
	require.NoError(t, err)
	require.Equal(t, key.ID, keyID)
	require.Equal(t, "https://crawler.example.org"+botauth.DirectoryPath, directory)
	p.Fetch.SignFlags = wiring.SignFlags{}
	requireFinding(t, p.look(t, "signature"), OK, "unsigned")
}
