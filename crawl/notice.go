package crawl

import "time"

// Proof is what the key file of a host says.
type Proof struct {
	// Keys are those that it has, at most [KeysMax].
	Keys []string `json:"keys,omitempty"`
	// VerifiedFor is how long a key holds that it has, and RefusedFor how long one that it has not
	// is refused.
	VerifiedFor Millis `json:"verified_ms"`
	RefusedFor  Millis `json:"refused_ms"`
}

// IsKey reports whether a text may be a key: 8 to 128 of a-z, A-Z, 0-9 and - (indexnow.org).
func IsKey(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return len(key) >= 8 && len(key) <= 128
}

// KeysMax is how many keys of a key file are read.
const KeysMax = 20

// Notice is what the owner of a host has told: that pages are new or have changed (package notify).
type Notice struct {
	// Host is the host, with its port if it has one that is not usual, and Domain its domain.
	Host   string `json:"host"`
	Domain string `json:"domain"`
	// Key is what the key file at KeyURL has to have.
	Key    string `json:"key"`
	KeyURL string `json:"key_url"`
	// KeyOrigin is the origin of KeyURL.
	KeyOrigin string `json:"key_origin"`
	// By is how it was told: the name of a protocol.
	By string `json:"by"`
	// URLs are the canonical URLs of the pages, all of Host.
	URLs []string `json:"urls"`
}

// NoticeState is how far a notice is believed.
type NoticeState string

// The states of a notice.
const (
	// NoticeIgnored: no run that goes on has the domain, or a person has stopped it. Nothing is kept.
	NoticeIgnored NoticeState = "ignored"
	// NoticeWaiting: it is kept until the key file has been read.
	NoticeWaiting NoticeState = "waiting"
	// NoticeVerified: the key file has the key.
	NoticeVerified NoticeState = "verified"
	// NoticeRefused: the key file was read lately, and does not prove it.
	NoticeRefused NoticeState = "refused"
	// NoticeFull: too much waits. Nothing of it is kept.
	NoticeFull NoticeState = "full"
)

// NoticeTaken is what became of a notice.
type NoticeTaken struct {
	State NoticeState `json:"state"`
	// Why it was refused.
	Why string `json:"why,omitempty"`
	// Until is when a key that was refused is looked at again.
	Until time.Time `json:"until,omitzero"`
	// Earliest is when the domain may be asked at the earliest, once the key is verified. Zero is
	// not known.
	Earliest time.Time `json:"earliest,omitzero"`
}

// Bounds of what is kept of notices.
const (
	// NoticeURLsMax is how many URLs one notice may have (indexnow.org), and how many wait for one
	// key. Of more, those told first are dropped.
	NoticeURLsMax = 10_000
	// NoticeKeysOfDomain is how many keys of one domain are kept that are not verified. Of more, the
	// one told first is dropped.
	NoticeKeysOfDomain = 4
	// NoticeURLsOfAll is how many URLs wait in all, and NoticeKeysOfAll for how many keys.
	NoticeURLsOfAll = 200_000
	NoticeKeysOfAll = 10_000
	// NoticeAskEvery is how long after one key file of a domain the next is asked for at the earliest.
	NoticeAskEvery = 10 * time.Minute
	// NoticeKept is how long a notice waits for its key file.
	NoticeKept = 3 * 24 * time.Hour
	// NoticeVerifiedFor is how long a verified key holds, and NoticeRefusedFor one that was refused.
	NoticeVerifiedFor = 7 * 24 * time.Hour
	NoticeRefusedFor  = time.Hour
)
