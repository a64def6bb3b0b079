package crawl

import "time"

// FeedHub is the hub that a feed names (W3C WebSub, section 4).
type FeedHub struct {
	// Topic is the URL under which the hub knows the feed. It is of the feed's domain.
	Topic string `json:"topic,omitempty"`
	// Hub is the hub; nil is that the feed names none.
	Hub *HubAddress `json:"address,omitempty"`
	// Silent says that the hub has not told of the feed's changes.
	Silent bool `json:"silent,omitempty"`
}

// HubAddress is where a hub is asked.
type HubAddress struct {
	// URL is canonical. Domain and Origin are its own.
	URL    string `json:"url"`
	Domain string `json:"domain"`
	Origin string `json:"origin"`
	// Registered is the registered domain that Domain is part of; empty where it is one.
	Registered string `json:"registered,omitempty"`
}

// Subscribed is what a hub has answered to a request for a subscription. The zero value is a refusal.
type Subscribed struct {
	// Accepted says that the hub will ask the listener whether it wants that (section 5.2).
	Accepted bool `json:"accepted,omitempty"`
	// Moved is where the hub is to be asked instead; nil is nowhere.
	Moved *HubAddress `json:"moved,omitempty"`
}

// Subscription is what a hub is asked for.
type Subscription struct {
	Topic string
	// Callback is the public URL of the listener, and Token what the path of this subscription ends with. It
	// cannot be guessed.
	Callback, Token string
	// Secret is the key with which the hub signs what it tells.
	Secret string
}

// URL is where the hub tells of changes: at a path that is the subscription's own.
func (s Subscription) URL() string { return s.Callback + WebSubPath + s.Token }

// WebSubPath is where the listener has the paths of subscriptions.
const WebSubPath = "/websub/"

// SubscriptionState is how far a subscription is.
type SubscriptionState string

// The states of a subscription.
const (
	// SubscriptionWanted: a feed names the hub, and the hub is to be asked.
	SubscriptionWanted SubscriptionState = "wanted"
	// SubscriptionAsking: a request to the hub is pending.
	SubscriptionAsking SubscriptionState = "asking"
	// SubscriptionAsked: the hub has accepted, and has to confirm it.
	SubscriptionAsked SubscriptionState = "asked"
	// SubscriptionActive: the hub tells of changes, until the lease ends.
	SubscriptionActive SubscriptionState = "active"
	// SubscriptionEnded: the hub is not asked for a while: it has refused, or told of nothing.
	SubscriptionEnded SubscriptionState = "ended"
)

// LeaseAsked is how long a hub is asked to tell of changes. It may choose another span.
const LeaseAsked = 10 * 24 * time.Hour

// PushMax is how long what a hub sends may be, in bytes: it has the feed, which is not read.
const PushMax = 4 << 20

// Push is one that a hub has sent, as far as its subscription is known.
type Push struct {
	// ID is the subscription, and Secret what the push has to be signed with.
	ID     int64
	Secret string
}
