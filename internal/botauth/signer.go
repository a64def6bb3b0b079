package botauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	// Lifetime is short, because a leaked signature can be used against the same host until then.
	// It allows for a slow connection and different clocks.
	Lifetime = time.Minute
	// rereadInterval is the minimum interval for reading keys again.
	rereadInterval = 5 * time.Second
	// nonceBytes is the drafts' length of a nonce.
	nonceBytes = 64
	tag        = "web-bot-auth"
)

// Config configures a Signer.
type Config struct {
	// Path names a file of keys or a folder of such files.
	Path string
	// Agent is the URL of the public keys, as for Form.Agent.
	Agent string
	Form  Form
	// Logger, if set, logs changed and unreadable keys.
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	config Config
	agent  string
	keys   atomic.Pointer[[]*Key]

	checkedAt       atomic.Pointer[time.Time]
	mu              sync.Mutex // held while reading keys again
	lastKeyID       string     // the last used key
	reportedProblem string     // the reported problem with the keys
}

// New returns a signer. It requires a valid key.
func New(c Config) (*Signer, error) {
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Form != FormArchitecture02 && c.Form != FormProtocol01 {
		return nil, fmt.Errorf("unknown form %q: want %s or %s", c.Form, FormArchitecture02, FormProtocol01)
	}
	agent, err := c.Form.Agent(c.Agent)
	if err != nil {
		return nil, err
	}
	keys, err := load(c.Path)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	key, err := pick(c.Path, keys, now)
	if err != nil {
		return nil, err
	}
	s := &Signer{config: c, agent: agent, lastKeyID: key.ID}
	s.keys.Store(&keys)
	s.checkedAt.Store(&now)
	return s, nil
}

// Agent returns the value of Signature-Agent.
func (s *Signer) Agent() string { return s.agent }

// Current returns the keyid of the key that signs now, or an empty string.
func (s *Signer) Current() string {
	key, err := pick(s.config.Path, *s.keys.Load(), s.config.Now())
	if err != nil {
		return ""
	}
	return key.ID
}

// Sign replaces a request's signature headers. It returns an error without a valid key.
func (s *Signer) Sign(r *http.Request) error {
	now := s.config.Now()
	s.refresh(r.Context(), now)
	key, err := pick(s.config.Path, *s.keys.Load(), now)
	if err != nil {
		return err
	}
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails
	return setSignatureHeaders(r, key, signatureConfig{
		agent: s.agent, form: s.config.Form, label: label, created: now, expires: now.Add(Lifetime),
		nonce: base64.StdEncoding.EncodeToString(nonce),
	})
}

type signatureConfig struct {
	agent, label, nonce string
	form                Form
	created, expires    time.Time
}

func setSignatureHeaders(r *http.Request, key *Key, c signatureConfig) error {
	text, err := httpsfv.Marshal(httpsfv.NewItem(c.agent))
	if err != nil {
		return fmt.Errorf("write Signature-Agent: %w", err)
	}
	header := text
	if c.form == FormProtocol01 {
		header = c.label + "=" + text
	}
	covered := httpsfv.InnerList{Params: httpsfv.NewParams()}
	var values []string
	for _, name := range c.form.covers() {
		item, value := httpsfv.NewItem(name), ""
		switch name {
		case "@authority":
			value = authorityOf(r.URL.Scheme, cmp.Or(r.Host, r.URL.Host))
		case "@method":
			value = r.Method
		case "@path":
			value, _, _ = strings.Cut(r.URL.RequestURI(), "?")
		case fieldAgent:
			value = text
			if c.form == FormProtocol01 {
				item.Params.Add("key", c.label)
			}
		}
		if value == "" {
			return errors.New("a request without " + name + " cannot be signed")
		}
		covered.Items, values = append(covered.Items, item), append(values, value)
	}
	covered.Params.Add("created", c.created.Unix())
	covered.Params.Add("keyid", key.ID)
	covered.Params.Add("alg", "ed25519")
	covered.Params.Add("expires", c.expires.Unix())
	covered.Params.Add("nonce", c.nonce)
	covered.Params.Add("tag", tag)
	signed, err := sign(key, covered, values)
	if err != nil {
		return fmt.Errorf("make the signature: %w", err)
	}
	input, signature, err := headers([]string{c.label}, []messageSignature{signed})
	if err != nil {
		return fmt.Errorf("write the signature: %w", err)
	}
	r.Header.Set("Signature-Agent", header)
	r.Header.Set("Signature-Input", input)
	r.Header.Set("Signature", signature)
	return nil
}

// refresh reads the keys again after reread. Concurrent requests do not wait for it.
func (s *Signer) refresh(ctx context.Context, now time.Time) {
	if now.Sub(*s.checkedAt.Load()) < rereadInterval || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.checkedAt.Store(&now)
	keys, err := load(s.config.Path)
	var key *Key
	if err == nil {
		key, err = pick(s.config.Path, keys, now)
	}
	if err != nil {
		if s.reportedProblem != err.Error() {
			s.config.Logger.WarnContext(ctx, "could not reload the signing keys; the old keys stay in use", "error", err)
		}
		s.reportedProblem = err.Error()
		return
	}
	s.keys.Store(&keys)
	if s.reportedProblem != "" || key.ID != s.lastKeyID {
		s.config.Logger.InfoContext(ctx, "requests are signed", "keyid", key.ID)
	}
	s.reportedProblem, s.lastKeyID = "", key.ID
}
