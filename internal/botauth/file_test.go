package botauth_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/botauth"
)

// pemOf is a private key as openssl genpkey writes it.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestFiles(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	seed := base64.RawURLEncoding.EncodeToString(private.Seed())
	public := base64.RawURLEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	jwk := `{"kty":"OKP","crv":"Ed25519","d":"` + seed + `","x":"` + public + `"}`
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	other, _, err := botauth.NewKeyFile(time.Now())
	require.NoError(t, err)
	open := func(t *testing.T, name, text string, mode os.FileMode) (*botauth.Signer, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return botauth.New(botauth.Config{Path: path, Agent: agent, Form: botauth.FormProtocol01})
	}
	for name, text := range map[string]string{
		"JWK": jwk, "PEM": pemOf(t, private), "Set": `{"keys":[` + jwk + `,` + string(other) + `]}`,
		"TwoInPEM": pemOf(t, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))) + pemOf(t, private),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t, "key", text, 0o640)
			require.NoError(t, err)
			require.NotEmpty(t, s.Current())
		})
	}
	for name, c := range map[string]struct {
		text, want string
		mode       os.FileMode
	}{
		"OthersMayReadIt":  {jwk, "chmod 600", 0o644},
		"OthersMayWriteIt": {jwk, "chmod 600", 0o660},
		"Empty":            {"", "neither a JWK nor a PEM key", 0o600},
		"Seed":             {seed, "neither a JWK nor a PEM key", 0o600},
		"NoKeys":           {`{"keys":[]}`, "the file has no key", 0o600},
		"PublicPart":       {`{"kty":"OKP","crv":"Ed25519","x":"` + public + `"}`, "has no d", 0o600},
		"AnotherCurve":     {`{"kty":"OKP","crv":"X25519","d":"` + seed + `"}`, "another kind", 0o600},
		"AnotherX":         {strings.Replace(jwk, public, seed, 1), "does not belong", 0o600},
		"Milliseconds":     {strings.Replace(jwk, "{", `{"nbf":1735689600000,`, 1), "seconds since 1970", 0o600},
		"Malformed":        {strings.Replace(jwk, seed, seed+"=", 1), "not 32 bytes", 0o600},
		"Broken":           {jwk[:60], "not valid JSON", 0o600},
		"NumberForText":    {`{"kty":"OKP","crv":"Ed25519","d":123456789}`, "not valid JSON", 0o600},
		"RSA":              {pemOf(t, rsaKey), "is not Ed25519", 0o600},
		"Passphrase":       {strings.ReplaceAll(pemOf(t, private), "PRIVATE", "ENCRYPTED PRIVATE"), "passphrase", 0o600},
		"OpenSSH":          {strings.ReplaceAll(pemOf(t, private), "PRIVATE", "OPENSSH PRIVATE"), "PKCS#8", 0o600},
		"BrokenPEM":        {pemOf(t, private)[:70], "no readable block", 0o600},
		"Twice":            {`{"keys":[` + jwk + `,` + jwk + `]}`, "twice", 0o600},
		"Long":             {strings.Repeat(" ", 65<<10) + jwk, "longer than", 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(name, "Others") && runtime.GOOS == "windows" {
				t.Skip("Windows has other rights")
			}
			_, err := open(t, "key", c.text, c.mode)
			require.ErrorContains(t, err, c.want)
			for _, secret := range []string{seed, seed[:8], "123456789", base64.StdEncoding.EncodeToString(private.Seed())} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
	for name, path := range map[string]string{"JWK": jwk, "Seed": seed, "Standard": base64.StdEncoding.EncodeToString(private.Seed())} {
		t.Run("APathThatIs"+name, func(t *testing.T) {
			t.Parallel()
			_, err := botauth.New(botauth.Config{Path: path, Agent: agent, Form: botauth.FormProtocol01})
			require.ErrorContains(t, err, "looks like a key")
			require.NotContains(t, err.Error(), path)
		})
	}
	t.Run("AFolderIsAsKubernetesMountsIt", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "..1"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..1", "key.jwk"), []byte(jwk), 0o440))
		require.NoError(t, os.Symlink("..1", filepath.Join(dir, "..data")))
		require.NoError(t, os.Symlink(filepath.Join("..data", "key.jwk"), filepath.Join(dir, "key.jwk")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("keys"), 0o644))
		s, err := botauth.New(botauth.Config{Path: dir, Agent: agent, Form: botauth.FormProtocol01})
		require.NoError(t, err)
		require.NotEmpty(t, s.Current())
	})
}
