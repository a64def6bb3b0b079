package botauth

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"
)

// rfcKey is the Ed25519 key of RFC 9421, B.1.4.
func rfcKey(t *testing.T) *Key {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	require.NoError(t, err)
	return newKey(seed)
}

// The vectors of the drafts, which cloudflare/web-bot-auth has as
// web_bot_auth_architecture_v1.json and v2.json, and that of RFC 9421, B.2.6.
func TestVectors(t *testing.T) {
	t.Parallel()
	key := rfcKey(t)
	items := func(names ...string) (all []httpsfv.Item) {
		for _, name := range names {
			all = append(all, httpsfv.NewItem(name))
		}
		return all
	}
	agent := func(param string) []httpsfv.Item {
		all := items("@authority", fieldAgent)
		all[1].Params.Add("key", param)
		return all
	}
	params := func(pairs ...any) *httpsfv.Params {
		all := httpsfv.NewParams()
		for i := 0; i < len(pairs); i += 2 {
			all.Add(pairs[i].(string), pairs[i+1])
		}
		return all
	}
	botAuth := func(expires int64, nonce string) *httpsfv.Params {
		return params("created", int64(1735689600), "keyid", key.ID, "alg", "ed25519", "expires", expires, "nonce", nonce, "tag", "web-bot-auth")
	}
	authority := []string{"example.com"}
	authorityAndAgent := []string{"example.com", `"https://signature-agent.test"`}
	const tail = `keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=`
	const none = "mYotfW3CUjI68sbGw6oKd7kyXqPjZEtU8xFPGWFrqOAf5qC6MDe3pys3SWWCudB0MvwslHy32WXUpkR7u0lt/w=="
	const noneV2 = "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A=="
	const dictionary = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
	for _, c := range []struct {
		name      string
		label     string
		items     []httpsfv.Item
		values    []string
		params    *httpsfv.Params
		input     string
		signature string
	}{
		{
			"RFC 9421, B.2.6", "sig-b26",
			items("date", "@method", "@path", "@authority", "content-type", "content-length"),
			[]string{"Tue, 20 Apr 2021 02:07:55 GMT", "POST", "/foo", "example.com", "application/json", "18"},
			params("created", int64(1618884473), "keyid", "test-key-ed25519"),
			`("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`,
			"wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
		},
		{
			"architecture v1, without an agent", "sig1",
			items("@authority"), authority,
			botAuth(1735693200, none),
			`("@authority");created=1735689600;` + tail + `1735693200;nonce="` + none + `";tag="web-bot-auth"`,
			"+NA/cssf4Y2bQTMTkyvTGRCaVzp9quyUevdwwMtMOWhhOOZ2T1subBj0BtvdnrpDEuwSAbiTeElXDzHL3WWKCw==",
		},
		{
			"architecture v2, without an agent", "sig1",
			items("@authority"), authority,
			botAuth(4889289600, noneV2),
			`("@authority");created=1735689600;` + tail + `4889289600;nonce="` + noneV2 + `";tag="web-bot-auth"`,
			"QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==",
		},
		{
			"architecture v2, with an agent", "sig2",
			agent("agent2"), authorityAndAgent,
			botAuth(4889289600, dictionary),
			`("@authority" "signature-agent";key="agent2");created=1735689600;` + tail + `4889289600;nonce="` + dictionary + `";tag="web-bot-auth"`,
			"RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
		},
		{
			"the working group's draft", "sig2",
			agent("sig2"), authorityAndAgent,
			botAuth(4889289600, dictionary),
			`("@authority" "signature-agent";key="sig2");created=1735689600;` + tail + `4889289600;nonce="` + dictionary + `";tag="web-bot-auth"`,
			"CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==",
		},
	} {
		made, err := sign(key, httpsfv.InnerList{Items: c.items, Params: c.params}, c.values)
		require.NoError(t, err, c.name)
		input, signature, err := headers([]string{c.label}, []messageSignature{made})
		require.NoError(t, err, c.name)
		require.Equal(t, c.label+"="+c.input, input, c.name)
		require.Equal(t, c.label+"=:"+c.signature+":", signature, c.name)
	}
}

// The vector of a whole request in the form that verifiers follow today.
func TestVectorOfARequest(t *testing.T) {
	t.Parallel()
	const nonce = "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://EXAMPLE.com:443/path/to/resource", http.NoBody)
	require.NoError(t, err)
	require.NoError(t, setSignatureHeaders(r, rfcKey(t), signatureConfig{
		agent: "https://signature-agent.test", form: FormArchitecture02, label: "sig2", nonce: nonce,
		created: time.Unix(1735689600, 0), expires: time.Unix(1735693200, 0),
	}))
	require.Equal(t, http.Header{
		"Signature-Agent": {`"https://signature-agent.test"`},
		"Signature-Input": {`sig2=("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"` +
			`;alg="ed25519";expires=1735693200;nonce="` + nonce + `";tag="web-bot-auth"`},
		"Signature": {"sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:"},
	}, r.Header)
}

// The vector of a directory's answer, of draft-ietf-webbotauth-httpsig-protocol.
func TestVectorOfADirectory(t *testing.T) {
	t.Parallel()
	key := rfcKey(t)
	body, err := jwks([]*Key{key})
	require.NoError(t, err)
	require.Equal(t, `{"keys":[{"kty":"OKP","crv":"Ed25519",`+ //nolint:testifylint // byte for byte
		`"kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",`+
		`"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`, string(body))
	header, err := directorySignatures([]*Key{key}, body, "signature-agent.test", time.Unix(1735689600, 0), time.Unix(4889289600, 0))
	require.NoError(t, err)
	require.Equal(t, "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:", header.Get("Content-Digest"))
	require.Equal(t, `binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;`+
		`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="http-message-signatures-directory"`, header.Get("Signature-Input"))
	require.Equal(t, "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:",
		header.Get("Signature"))
}

func TestTheKeyOfTheRFCIsRefused(t *testing.T) {
	t.Parallel()
	const text = `{"kty":"OKP","crv":"Ed25519","kid":"test-key-ed25519","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",` +
		`"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`
	_, err := parse([]byte(text), time.Now())
	require.ErrorContains(t, err, "public test key")
	require.NotContains(t, err.Error(), "n4Ni")
}
