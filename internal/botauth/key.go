package botauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Key is an Ed25519 private key with its validity.
type Key struct {
	// ID is its keyid: the thumbprint of the public key (RFC 8037, appendix A.3).
	ID string
	// NotBefore and NotAfter bound its validity. Zero means no bound.
	NotBefore, NotAfter time.Time

	// createdAt is NotBefore, or else the file's modification time: the newest key signs.
	createdAt time.Time
	public    ed25519.PublicKey
	// sign holds the private key. A function cannot be printed or encoded, at any depth.
	sign func(message []byte) []byte
}

func newKey(seed []byte) *Key {
	private := ed25519.NewKeyFromSeed(seed)
	public := slices.Clone(private[ed25519.PublicKeySize:])
	return &Key{
		ID: thumbprint(public), public: ed25519.PublicKey(public),
		sign: func(message []byte) []byte { return ed25519.Sign(private, message) },
	}
}

// thumbprint returns the RFC 7638 thumbprint, with the members of RFC 8037 for Ed25519.
func thumbprint(public []byte) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// jwk is a JSON Web Key (RFC 7517, RFC 8037) or a set, in the drafts' order of members.
type jwk struct {
	Type      string            `json:"kty,omitempty"`
	Curve     string            `json:"crv,omitempty"`
	ID        string            `json:"kid,omitempty"`
	Public    string            `json:"x,omitempty"`
	Private   string            `json:"d,omitempty"`
	Use       string            `json:"use,omitempty"`
	NotBefore int64             `json:"nbf,omitempty"`
	NotAfter  int64             `json:"exp,omitempty"`
	Keys      []json.RawMessage `json:"keys,omitempty"`
}

func (k *Key) jwk() jwk {
	j := jwk{Type: "OKP", Curve: "Ed25519", ID: k.ID, Public: base64.RawURLEncoding.EncodeToString(k.public)}
	if !k.NotBefore.IsZero() {
		j.NotBefore = k.NotBefore.Unix()
	}
	if !k.NotAfter.IsZero() {
		j.NotAfter = k.NotAfter.Unix()
	}
	return j
}

// testKey is the thumbprint of the key of RFC 9421, B.1.4, whose private part is public.
const testKey = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

// parse reads the keys of a file with a modification time. Its errors do not quote the file.
func parse(data []byte, written time.Time) (keys []*Key, err error) {
	switch data = bytes.TrimSpace(data); {
	case bytes.HasPrefix(data, []byte("{")):
		keys, err = parseJWK(data, true)
	case bytes.Contains(data, []byte("-----BEGIN ")):
		keys, err = parsePEM(data)
	default:
		err = errors.New("neither a JWK nor a PEM key: create one with mosey identity keygen")
	}
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.ID == testKey {
			return nil, errors.New("this is the public test key of RFC 9421: create another with mosey identity keygen")
		}
		if k.createdAt = k.NotBefore; k.createdAt.IsZero() {
			k.createdAt = written
		}
	}
	return keys, nil
}

// parseJWK parses a JWK or, if set is set, a set of JWKs.
func parseJWK(data []byte, set bool) ([]*Key, error) {
	var j jwk
	if json.Unmarshal(data, &j) != nil { // its error may quote the key
		return nil, errors.New("the JWK is not valid JSON, or a member has the wrong type (nbf and exp are whole seconds)")
	}
	if set && j.Keys != nil {
		var keys []*Key
		for _, one := range j.Keys {
			k, err := parseJWK(one, false)
			if err != nil {
				return nil, err
			}
			keys = append(keys, k...)
		}
		return keys, nil
	}
	if j.Type != "OKP" || j.Curve != "Ed25519" {
		return nil, errors.New(`the JWK is of another kind: want "kty":"OKP" and "crv":"Ed25519"`)
	}
	if j.Private == "" {
		return nil, errors.New("the JWK has no d: it is a public key, but signing needs the private key")
	}
	seed, err := base64.RawURLEncoding.DecodeString(j.Private)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("the d of the JWK is not 32 bytes in base64url without padding")
	}
	k := newKey(seed)
	if j.Public != "" && j.Public != base64.RawURLEncoding.EncodeToString(k.public) {
		return nil, errors.New("the x of the JWK does not belong to its d")
	}
	for _, at := range []struct {
		seconds int64
		to      *time.Time
	}{{j.NotBefore, &k.NotBefore}, {j.NotAfter, &k.NotAfter}} {
		if at.seconds < 0 || at.seconds > maxSeconds {
			return nil, errors.New("nbf and exp of the JWK must be seconds since 1970")
		}
		if at.seconds > 0 {
			*at.to = time.Unix(at.seconds, 0)
		}
	}
	return []*Key{k}, nil
}

// maxSeconds is in the year 5138. It excludes milliseconds, which early drafts had.
const maxSeconds = 99_999_999_999

func parsePEM(data []byte) ([]*Key, error) {
	var keys []*Key
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		switch block.Type {
		case "PRIVATE KEY":
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the key has a passphrase, which Mosey cannot enter: remove it with openssl pkey -in OLD -out NEW")
		default:
			return nil, errors.New("a PEM block is not a PRIVATE KEY (PKCS#8): create one with openssl genpkey -algorithm ed25519")
		}
		private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		ed, is := private.(ed25519.PrivateKey)
		if err != nil || !is {
			return nil, errors.New("a key in the PEM is not Ed25519: create one with openssl genpkey -algorithm ed25519")
		}
		keys = append(keys, newKey(ed.Seed()))
	}
	if len(keys) == 0 {
		return nil, errors.New("the PEM is malformed: it has no readable block")
	}
	return keys, nil
}

// NewKeyFile returns a new key that is valid from an instant on, and its file, a JWK.
func NewKeyFile(from time.Time) (text []byte, key *Key, err error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	key = newKey(private.Seed())
	key.NotBefore = time.Unix(from.Unix(), 0)
	j := key.jwk()
	j.Private = base64.RawURLEncoding.EncodeToString(private.Seed())
	if text, err = json.Marshal(j); err != nil {
		return nil, nil, fmt.Errorf("write the key as JSON: %w", err)
	}
	return append(text, '\n'), key, nil
}
