package signatures

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Keys are public keys by their keyid.
type Keys map[string]ed25519.PublicKey

// ReadDirectory reads a JWK Set. The names of the keys must be their thumbprints.
func ReadDirectory(body []byte) (Keys, error) {
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	keys := Keys{}
	for _, k := range set.Keys {
		x, _ := k["x"].(string)
		public, err := base64.RawURLEncoding.DecodeString(x)
		if err != nil || len(public) != ed25519.PublicKeySize || k["kty"] != "OKP" || k["crv"] != "Ed25519" {
			return nil, errors.New("a key is not Ed25519")
		}
		for _, secret := range []string{"d", "k", "p"} {
			if _, has := k[secret]; has {
				return nil, errors.New("a key is private")
			}
		}
		sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
		id := base64.RawURLEncoding.EncodeToString(sum[:])
		if k["kid"] != id {
			return nil, fmt.Errorf("a key is called %v, and its thumbprint is %s", k["kid"], id)
		}
		keys[id] = public
	}
	return keys, nil
}

// Verified holds the content of a valid signature.
type Verified struct {
	KeyID, Agent, Nonce string
	Created, Expires    time.Time
	// Covers are the components as written in Signature-Input.
	Covers []string
}

// Verify checks the one signature of a request to a server of a scheme. A known key must have made
// it for this authority and Signature-Agent, and it must be valid now, as Web Bot Auth requires.
func Verify(r *http.Request, scheme string, keys Keys, now time.Time) (Verified, error) {
	agentHeader := strings.Join(r.Header.Values("Signature-Agent"), ", ")
	return verify(r.Header, keys, now, "web-bot-auth", func(c member) (string, bool) {
		switch c.value {
		case "@authority":
			port := map[string]string{"http": ":80", "https": ":443"}[scheme]
			return strings.TrimSuffix(strings.ToLower(r.Host), port), len(c.of) == 0
		case "@method":
			return r.Method, len(c.of) == 0
		case "@path":
			path, _, _ := strings.Cut(r.RequestURI, "?")
			return path, len(c.of) == 0 && strings.HasPrefix(path, "/")
		case "signature-agent":
			key, isMember := c.of["key"].(string)
			if !isMember {
				return agentHeader, len(c.of) == 0 && strings.HasPrefix(agentHeader, `"`)
			}
			members, err := dictionary(agentHeader)
			m, found := find(members, key)
			return m.text, err == nil && found
		}
		return "", false
	}, "@authority", "signature-agent")
}

// VerifyDirectory checks that each key of a directory requested at an authority signs for itself.
func VerifyDirectory(header http.Header, body []byte, authority string, now time.Time) (Keys, error) {
	keys, err := ReadDirectory(body)
	if err != nil {
		return nil, err
	}
	digests, err := dictionary(header.Get("Content-Digest"))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	d, _ := find(digests, "sha-256")
	if digest, is := d.value.([]byte); !is || !bytes.Equal(sum[:], digest) {
		return nil, errors.New("Content-Digest is of another body")
	}
	inputs, err := dictionary(header.Get("Signature-Input"))
	if err != nil {
		return nil, err
	}
	signatures, err := dictionary(header.Get("Signature"))
	if err != nil {
		return nil, err
	}
	proved := map[string]bool{}
	for _, input := range inputs {
		signature, found := find(signatures, input.key)
		if !found {
			return nil, fmt.Errorf("no signature %s", input.key)
		}
		v, err := check(input, signature, keys, now, "http-message-signatures-directory", func(c member) (string, bool) {
			switch c.value {
			case "@authority":
				return authority, c.of["req"] == true
			case "content-digest":
				return header.Get("Content-Digest"), len(c.of) == 0
			}
			return "", false
		}, "@authority", "content-digest")
		if err != nil {
			return nil, err
		}
		proved[v.KeyID] = true
	}
	if len(proved) != len(keys) {
		return nil, fmt.Errorf("%d of %d keys have signed", len(proved), len(keys))
	}
	return keys, nil
}

func verify(
	h http.Header, keys Keys, now time.Time, tag string, valueOf func(member) (string, bool), needed ...string,
) (v Verified, err error) {
	inputs, err := dictionary(strings.Join(h.Values("Signature-Input"), ", "))
	if err != nil {
		return v, fmt.Errorf("Signature-Input: %w", err)
	}
	signatures, err := dictionary(strings.Join(h.Values("Signature"), ", "))
	if err != nil {
		return v, fmt.Errorf("Signature: %w", err)
	}
	if len(inputs) != 1 || len(signatures) != 1 || inputs[0].key != signatures[0].key {
		return v, errors.New("want one signature")
	}
	return check(inputs[0], signatures[0], keys, now, tag, valueOf, needed...)
}

// check verifies one signature by RFC 9421, 3.2.
func check(
	input, signature member, keys Keys, now time.Time, tag string, valueOf func(member) (string, bool), needed ...string,
) (v Verified, err error) {
	var base strings.Builder
	covered := map[any]bool{}
	for _, c := range input.items {
		value, ok := valueOf(c)
		if !ok || covered[c.value] {
			return v, fmt.Errorf("the component %s has no value, or is there twice", c.text)
		}
		covered[c.value] = true
		v.Covers = append(v.Covers, c.text)
		if c.value == "signature-agent" {
			v.Agent = strings.Trim(value, `"`)
		}
		base.WriteString(c.text + ": " + value + "\n")
	}
	base.WriteString(`"@signature-params": ` + input.text)
	for _, name := range needed {
		if !covered[name] {
			return v, fmt.Errorf("%s is not covered", name)
		}
	}
	v.KeyID, _ = input.of["keyid"].(string)
	v.Nonce, _ = input.of["nonce"].(string)
	created, _ := input.of["created"].(int64)
	expires, _ := input.of["expires"].(int64)
	v.Created, v.Expires = time.Unix(created, 0), time.Unix(expires, 0)
	key, known := keys[v.KeyID]
	alg, has := input.of["alg"]
	sent, _ := signature.value.([]byte)
	switch {
	case input.of["tag"] != tag:
		return v, fmt.Errorf("the tag is %v", input.of["tag"])
	case has && alg != "ed25519":
		return v, fmt.Errorf("the algorithm is %v", alg)
	case !known:
		return v, errors.New("the key is not known")
	case v.Created.After(now):
		return v, errors.New("the signature is of the future")
	case !now.Before(v.Expires):
		return v, errors.New("the signature has expired")
	case !ed25519.Verify(key, []byte(base.String()), sent):
		return v, errors.New("the signature does not fit")
	}
	return v, nil
}
