package botauth

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// DirectoryType is the media type of a directory.
	DirectoryType = "application/http-message-signatures-directory+json"
	directoryTag  = "http-message-signatures-directory"
	// DirectoryAge is the cache time of the directory. A new key is in it for as long before use.
	DirectoryAge = time.Hour
)

// Directory returns the public keys of a file or folder as a JWK Set, without expired keys.
func Directory(path string, now time.Time) ([]byte, error) {
	_, body, err := directory(path, now)
	return body, err
}

func directory(path string, now time.Time) (keys []*Key, body []byte, err error) {
	if keys, err = load(path); err != nil {
		return nil, nil, err
	}
	keys = slices.DeleteFunc(keys, func(k *Key) bool {
		return !k.NotAfter.IsZero() && !now.Before(k.NotAfter)
	})
	if len(keys) == 0 {
		return nil, nil, fmt.Errorf("%s: all keys have expired (exp): add one with mosey identity keygen", path)
	}
	if body, err = jwks(keys); err != nil {
		return nil, nil, err
	}
	return keys, append(body, '\n'), nil
}

func jwks(keys []*Key) ([]byte, error) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{}
	for _, k := range keys {
		one := k.jwk()
		one.Use = "sig"
		set.Keys = append(set.Keys, one)
	}
	body, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("write the directory as JSON: %w", err)
	}
	return body, nil
}

// SignedDirectory returns the Directory, and headers with each key's signature for agent's host.
func SignedDirectory(path, agent string, now time.Time, valid time.Duration) (body []byte, header http.Header, err error) {
	u, err := url.Parse(agent)
	if err != nil {
		return nil, nil, err
	}
	keys, body, err := directory(path, now)
	if err != nil {
		return nil, nil, err
	}
	header, err = directorySignatures(keys, body, authorityOf(u.Scheme, u.Host), now, now.Add(valid))
	return body, header, err
}

// directorySignatures returns the headers of a directory's response, with a signature by each key.
func directorySignatures(keys []*Key, body []byte, authority string, created, expires time.Time) (http.Header, error) {
	sum := sha256.Sum256(body)
	digests := httpsfv.NewDictionary()
	digests.Add("sha-256", httpsfv.NewItem(sum[:]))
	digest, err := httpsfv.Marshal(digests)
	if err != nil {
		return nil, fmt.Errorf("write Content-Digest: %w", err)
	}
	var labels []string
	var all []messageSignature
	for i, k := range keys {
		host := httpsfv.NewItem("@authority")
		host.Params.Add("req", true)
		covered := httpsfv.InnerList{Items: []httpsfv.Item{host, httpsfv.NewItem("content-digest")}, Params: httpsfv.NewParams()}
		covered.Params.Add("created", created.Unix())
		covered.Params.Add("expires", expires.Unix())
		covered.Params.Add("keyid", k.ID)
		covered.Params.Add("tag", directoryTag)
		signed, err := sign(k, covered, []string{authority, digest})
		if err != nil {
			return nil, fmt.Errorf("sign the directory: %w", err)
		}
		name := "binding"
		if i > 0 {
			name += strconv.Itoa(i)
		}
		labels, all = append(labels, name), append(all, signed)
	}
	input, signature, err := headers(labels, all)
	if err != nil {
		return nil, fmt.Errorf("write the signatures of the directory: %w", err)
	}
	return http.Header{
		"Cache-Control":   {fmt.Sprintf("max-age=%d", int(DirectoryAge.Seconds()))},
		"Content-Digest":  {digest},
		"Content-Type":    {DirectoryType},
		"Signature":       {signature},
		"Signature-Input": {input},
	}, nil
}
