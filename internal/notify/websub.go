package notify

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // an HMAC of it is not broken, and hubs that are widely used have no other
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// challengeMax bounds what is repeated to a hub, and tokenMax the last part of a path, in bytes.
const (
	challengeMax = 1 << 10
	tokenMax     = 128
)

// leaseUnsaid is for how long a hub tells that does not say.
const leaseUnsaid = crawl.LeaseAsked

// verify answers a hub that asks whether it is to tell of changes, or that refuses to (W3C WebSub, sections 5.2
// and 5.3).
func (s *Server) verify(w http.ResponseWriter, r *http.Request) {
	token, q := r.PathValue("token"), r.URL.Query()
	mode, topic, challenge := q.Get("hub.mode"), q.Get("hub.topic"), q.Get("hub.challenge")
	var wanted bool
	var err error
	switch {
	case len(token) > tokenMax || topic == "":
	case mode == "denied":
		challenge = "" // there is nothing to repeat
		wanted, err = s.Store.DenyPush(r.Context(), token, topic, q.Get("hub.reason"))
	case mode == "subscribe" && challenge != "" && len(challenge) <= challengeMax:
		lease := leaseUnsaid
		if seconds, err := strconv.ParseInt(q.Get("hub.lease_seconds"), 10, 32); err == nil {
			lease = time.Duration(seconds) * time.Second
		}
		wanted, err = s.Store.VerifyPush(r.Context(), token, topic, lease)
	}
	switch {
	case err != nil:
		s.notKept(w, r, err)
	case !wanted:
		http.NotFound(w, r) // which is how a subscriber says no
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge) //nolint:gosec // as plain text; a hub that went away is no fault
	}
}

// push takes what a hub tells, if that is signed with the secret of the subscription (section 7.1). What it sends is
// not read: the feed is asked for.
func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	token := r.PathValue("token")
	push, err := crawl.Push{}, crawl.ErrNotFound
	if len(token) <= tokenMax {
		push, err = s.Store.Push(r.Context(), token)
	}
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		http.Error(w, "there is no such subscription", http.StatusGone)
		return
	case err != nil:
		s.notKept(w, r, err)
		return
	}
	if err := s.within(w); err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	mac, want := signature(r.Header.Get("X-Hub-Signature"), push.Secret)
	if mac == nil {
		s.unsigned(w, r, "it is not signed by a method that is known")
		return
	}
	if _, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, crawl.PushMax)); err != nil {
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			http.Error(w, "the body is larger than "+strconv.Itoa(crawl.PushMax)+" bytes", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if !hmac.Equal(mac.Sum(nil), want) {
		s.unsigned(w, r, "it is not signed with the secret of its subscription")
		return
	}
	if err := s.Store.TakePush(r.Context(), push); err != nil {
		s.notKept(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// unsigned answers as if all were well (section 8): who guesses is told nothing.
func (s *Server) unsigned(w http.ResponseWriter, r *http.Request, why string) {
	s.Logger.DebugContext(r.Context(), "a push is ignored", "why", why)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) notKept(w http.ResponseWriter, r *http.Request, err error) {
	s.Logger.WarnContext(r.Context(), "could not keep what a hub told", "error", err)
	again(w, time.Minute)
	http.Error(w, "it cannot be kept now", http.StatusServiceUnavailable)
}

// signature is what a header X-Hub-Signature wants, METHOD=HEX, and the hash to compare it with; nil is that it is none.
func signature(header, secret string) (mac hash.Hash, want []byte) {
	method, digest, _ := strings.Cut(strings.TrimSpace(header), "=")
	news := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
	hashOf, known := news[strings.ToLower(method)]
	want, err := hex.DecodeString(digest)
	if !known || err != nil {
		return nil, nil
	}
	return hmac.New(hashOf, []byte(secret)), want
}
