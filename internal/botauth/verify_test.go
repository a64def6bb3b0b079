package botauth

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPublishedDirectory(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	var ids []string
	for _, name := range []string{"one.jwk", "two.jwk"} {
		text, key, err := NewKeyFile(now.Add(-time.Hour))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		ids = append(ids, key.ID)
	}
	const asked = "https://crawler.example.org" + DirectoryPath
	body, header, err := SignedDirectory(dir, "https://crawler.example.org", now, time.Hour)
	require.NoError(t, err)
	keys, err := ReadDirectory(body)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	for _, id := range ids {
		require.NoError(t, keys.Verify(id, asked, header, body, now))
	}

	id := ids[0]
	refuses := func(want string, h http.Header, at string, body []byte, now time.Time) {
		t.Helper()
		require.ErrorContains(t, keys.Verify(id, at, h, body, now), want)
	}
	with := func(name, value string) http.Header {
		h := header.Clone()
		h.Set(name, value)
		return h
	}
	refuses("the signature is invalid", header, "https://other.example.org/", body, now)
	refuses("expired at", header, asked, body, now.Add(2*time.Hour))
	refuses("in the future", header, asked, body, now.Add(-time.Minute))
	refuses("does not match the body", header, asked, append(bytes.Clone(body), ' '), now)
	refuses("Signature-Input cannot be read", with("Signature-Input", "("), asked, body, now)
	refuses("Signature cannot be read", with("Signature", "("), asked, body, now)
	refuses("has no binding", with("Signature", "x=:AAAA:"), asked, body, now)
	refuses("does not bind", with("Signature-Input", `binding=("@authority";req);created=1;expires=9999999999;keyid="`+id+`";tag="`+directoryTag+`"`), asked,
		body, now)
	refuses("which a directory does not have", with("Signature-Input", `binding=("cookie");created=1;expires=9999999999;keyid="`+id+`";tag="`+directoryTag+`"`), asked,
		body, now)
	refuses("no created or expires", with("Signature-Input", `binding=();keyid="`+id+`";tag="`+directoryTag+`"`), asked, body, now)
	require.ErrorIs(t, keys.Verify(id, asked, with("Signature-Input", `binding=();keyid="x"`), body, now), ErrUnsigned)
	require.ErrorIs(t, keys.Verify(id, asked, http.Header{}, body, now), ErrUnsigned)
	require.Error(t, keys.Verify("unknown", asked, header, body, now))
	swapped := header.Clone()
	swapped.Set("Signature-Input", strings.NewReplacer(ids[0], ids[1], ids[1], ids[0]).Replace(header.Get("Signature-Input")))
	refuses("the signature is invalid", swapped, asked, body, now)

	for text, want := range map[string]string{
		"<p>": "not a JWK Set", "{}": "not a JWK Set", `{"keys":[{"d":"x"}]}`: "private part",
		strings.Replace(string(body), ids[0], "mine", 1): `"mine"`,
		`{"keys":[` + strings.Repeat("{},", 32) + `{}]}`: "33 keys",
	} {
		_, err := ReadDirectory([]byte(text))
		require.ErrorContains(t, err, want)
	}
	none, err := ReadDirectory([]byte(`{"keys":[{"kty":"RSA"}]}`))
	require.NoError(t, err)
	require.Empty(t, none)
}
