package botauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// PublishedKeys is a verifier's view of a directory: the public keys by their keyid.
type PublishedKeys map[string]ed25519.PublicKey

// ReadDirectory parses a directory. It skips non-Ed25519 keys, and rejects bad or private ones.
func ReadDirectory(body []byte) (PublishedKeys, error) {
	var set struct {
		Keys *[]jwk `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("it is not a JWK Set")
	}
	if len(*set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys: want at most %d", len(*set.Keys), maxKeys)
	}
	keys := PublishedKeys{}
	for _, k := range *set.Keys {
		if k.Private != "" {
			return nil, errors.New("it publishes the private part of a key (d), so that the key is compromised: replace it")
		}
		public, err := base64.RawURLEncoding.DecodeString(k.Public)
		if k.Type != "OKP" || k.Curve != "Ed25519" || err != nil || len(public) != ed25519.PublicKeySize {
			continue
		}
		if id := thumbprint(public); k.ID != id {
			return nil, fmt.Errorf("the kid %.60q of a key does not match its thumbprint %s", k.ID, id)
		}
		keys[k.ID] = public
	}
	return keys, nil
}

// ErrUnsigned means that no key has signed a directory. The drafts make signatures optional.
var ErrUnsigned = errors.New("the response is not signed by the key")

// Verify verifies that a key of the directory has signed the response, with its header and body,
// for the host of a URL, at an instant. Without a signature the error is ErrUnsigned.
func (p PublishedKeys) Verify(keyID, directoryURL string, header http.Header, body []byte, now time.Time) error {
	key, known := p[keyID]
	if !known {
		return errors.New("the directory does not have the key")
	}
	u, err := url.Parse(directoryURL)
	if err != nil {
		return err
	}
	list, signature, err := signatureOf(keyID, header)
	if err != nil {
		return err
	}
	created, _ := list.Params.Get("created")
	expires, _ := list.Params.Get("expires")
	seconds, isCreatedValid := created.(int64)
	endSeconds, isExpiresValid := expires.(int64)
	switch from, end := time.Unix(seconds, 0).UTC(), time.Unix(endSeconds, 0).UTC(); {
	case !isCreatedValid || !isExpiresValid:
		return errors.New("the signature has no created or expires parameter")
	case from.After(now):
		return fmt.Errorf("the signature was created in the future, at %s", from.Format(time.RFC3339))
	case !now.Before(end):
		return fmt.Errorf("the signature expired at %s", end.Format(time.RFC3339))
	}
	base, err := baseOf(list, header, body, authorityOf(u.Scheme, u.Host))
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, []byte(base), signature) {
		return errors.New("the signature is invalid: it covers another host or other headers")
	}
	return nil
}

// signatureOf returns a key's input and signature in a directory's header.
func signatureOf(keyID string, header http.Header) (list httpsfv.InnerList, signature []byte, err error) {
	if header.Get("Signature-Input") == "" {
		return list, nil, ErrUnsigned
	}
	inputs, err := httpsfv.UnmarshalDictionary(header.Values("Signature-Input"))
	if err != nil {
		return list, nil, fmt.Errorf("the header Signature-Input cannot be read: %w", err)
	}
	signatures, err := httpsfv.UnmarshalDictionary(header.Values("Signature"))
	if err != nil {
		return list, nil, fmt.Errorf("the header Signature cannot be read: %w", err)
	}
	for _, label := range inputs.Names() {
		member, _ := inputs.Get(label)
		input, is := member.(httpsfv.InnerList)
		if !is {
			continue
		}
		id, _ := input.Params.Get("keyid")
		tag, _ := input.Params.Get("tag")
		if id != keyID || tag != directoryTag {
			continue
		}
		entry, _ := signatures.Get(label)
		item, isItem := entry.(httpsfv.Item)
		text, isBytes := item.Value.([]byte)
		if !isItem || !isBytes {
			return list, nil, fmt.Errorf("the header Signature has no %s", label)
		}
		return input, text, nil
	}
	return list, nil, ErrUnsigned
}

// baseOf returns a directory's signature base (RFC 9421, 2.5). It must bind the body to the host.
func baseOf(list httpsfv.InnerList, header http.Header, body []byte, authority string) (string, error) {
	values := make([]string, len(list.Items))
	covered := map[any]bool{}
	for i, item := range list.Items {
		switch item.Value {
		case "@authority":
			values[i] = authority
		case "content-digest":
			values[i] = strings.Join(header.Values("Content-Digest"), ", ")
		default:
			return "", fmt.Errorf("the signature covers %.60v, which a directory does not have", item.Value)
		}
		covered[item.Value] = true
	}
	if !covered["@authority"] || !covered["content-digest"] {
		return "", errors.New("the signature does not bind the body to the host")
	}
	digests, err := httpsfv.UnmarshalDictionary(header.Values("Content-Digest"))
	if err != nil {
		return "", fmt.Errorf("the header Content-Digest cannot be read: %w", err)
	}
	digest, _ := digests.Get("sha-256")
	item, _ := digest.(httpsfv.Item)
	sum := sha256.Sum256(body)
	if stored, is := item.Value.([]byte); !is || !bytes.Equal(stored, sum[:]) {
		return "", errors.New("Content-Digest does not match the body")
	}
	return signatureBase(list, values)
}
