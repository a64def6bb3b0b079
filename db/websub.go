package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/recrawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ListenerHere keeps that a public listener is there, at a URL. It returns the URL that hubs are told: that of
// another, if one was there first.
func (s *Store) ListenerHere(ctx context.Context, url string) (string, error) {
	return retryConflicts(ctx, "note where the listener is", func() (string, error) { return s.q.ListenerHere(ctx, url) })
}

// Subscription is what a hub is to be asked for by a crawl. It is crawl.ErrNotFound if nothing is.
func (s *Store) Subscription(ctx context.Context, crawlID int64) (crawl.Subscription, error) {
	row, err := s.q.WebsubSubscription(ctx, crawlID)
	return crawl.Subscription{Topic: row.Topic, Callback: row.Callback, Token: row.Token, Secret: row.Secret},
		translate("read what a hub is asked for", err)
}

// VerifyPush reports whether the hub that has a token is to tell of changes of a topic, and has it do so for a
// time that is kept within bounds.
func (s *Store) VerifyPush(ctx context.Context, token, topic string, lease time.Duration) (bool, error) {
	return retryConflicts(ctx, "confirm a subscription", func() (bool, error) {
		return s.q.WebsubVerify(ctx, dbsqlc.WebsubVerifyParams{Token: token, Topic: topic, LeaseS: int64(lease / time.Second)})
	})
}

// DenyPush ends a subscription that its hub refuses. It reports whether there was one.
func (s *Store) DenyPush(ctx context.Context, token, topic, why string) (bool, error) {
	return retryConflicts(ctx, "end a subscription", func() (bool, error) {
		return s.q.WebsubDeny(ctx, dbsqlc.WebsubDenyParams{Token: token, Topic: topic, Why: crawl.CleanText(why, whyMax)})
	})
}

// whyMax bounds what a hub says of why it refuses, in bytes.
const whyMax = 400

// Push is the subscription that has a token. It is crawl.ErrNotFound if none has, or if it has ended.
func (s *Store) Push(ctx context.Context, token string) (crawl.Push, error) {
	row, err := s.q.WebsubOfToken(ctx, token)
	return crawl.Push(row), translate("look for a subscription", err)
}

// TakePush keeps that a hub has told of a change.
func (s *Store) TakePush(ctx context.Context, push crawl.Push) error {
	return retry(ctx, "keep what a hub tells", func() error { return s.q.WebsubPushed(ctx, push.ID) })
}

const (
	// lookedMost is how many subscriptions one transaction looks at, and looksMost how many of these there are in one
	// call. pushesMost is how many pushes one transaction carries out.
	lookedMost = 20
	looksMost  = 10
	pushesMost = 500
	// flightMost is how long a request may have been under way when its answer was kept.
	flightMost = time.Minute
)

// ApplyPushes carries out what hubs have told: the feeds are due earlier. Then it has hubs asked whose time has
// come. It looks at a bounded number, and returns how many feeds are due earlier and how many hubs are asked.
func (s *Store) ApplyPushes(ctx context.Context) (sooner, asked int, err error) {
	changed, err := retryConflicts(ctx, "carry out what hubs tell", func() (int32, error) {
		rows, err := s.q.WebsubTold(ctx, pushesMost)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		decided := make([]decidedPush, len(rows))
		for i, r := range rows {
			if decided[i], err = s.decidePush(r); err != nil {
				return 0, err
			}
		}
		doc, err := document("what becomes of pushes", decided)
		if err != nil {
			return 0, err
		}
		return s.q.WebsubApply(ctx, doc)
	})
	if err != nil {
		return 0, 0, err
	}
	for range looksMost {
		looked, err := retryConflicts(ctx, "look at subscriptions", func() ([]int32, error) { return s.q.WebsubLook(ctx, lookedMost) })
		if err != nil {
			return int(changed), asked, err
		}
		asked += int(looked[1])
		if looked[0] < lookedMost {
			break
		}
	}
	return int(changed), asked, nil
}

// decidedPush is what is to become of one push. One without a history changes nothing.
type decidedPush struct {
	ID        int64           `json:"id"`
	ToldAt    time.Time       `json:"told_at"`
	Page      int64           `json:"page"`
	FetchedAt *time.Time      `json:"fetched_at,omitempty"`
	History   json.RawMessage `json:"history,omitempty"`
	Due       []noticeDue     `json:"due"`
}

// decidePush drops what cannot be used any more: a visit has followed, or the feed was forgotten. A visit that was under
// way when the hub told may not have seen the change.
func (s *Store) decidePush(r dbsqlc.WebsubToldRow) (decidedPush, error) {
	d := decidedPush{ID: r.ID, ToldAt: *r.ToldAt, Page: r.FeedPageID, FetchedAt: r.FetchedAt, Due: []noticeDue{}}
	if r.FetchedAt == nil || r.FetchedAt.After(r.ToldAt.Add(flightMost)) {
		return d, nil
	}
	at := *r.ToldAt
	if !at.After(*r.FetchedAt) {
		at = r.FetchedAt.Add(time.Second)
	}
	history, due, err := decide.Told(crawl.DomainRecrawl{}, r.History, *r.FetchedAt, at, recrawl.WebSub)
	if err != nil {
		return d, nil //nolint:nilerr // it begins anew with its next visit
	}
	d.History = history
	var runs []struct {
		Run      int64           `json:"run"`
		Settings json.RawMessage `json:"settings"`
	}
	if err := json.Unmarshal(r.Runs, &runs); err != nil {
		return d, fmt.Errorf("read the runs that ask for a feed: %w", err)
	}
	for _, run := range runs {
		set, err := s.settingsOf(run.Settings)
		if err != nil {
			return d, err
		}
		if !set.Recrawls() || due.IsZero() {
			continue
		}
		d.Due = append(d.Due, toldDue(run.Run, set, kinds.Kind(r.Kind), *r.FetchedAt, timeOf(r.FreshUntil), due))
	}
	return d, nil
}

// Hubs are the hubs that feeds of a domain have, those first that told last.
func (s *Store) Hubs(ctx context.Context, domain string) ([]report.Hub, error) {
	rows, err := s.q.WebsubOfDomain(ctx, domain)
	all := make([]report.Hub, len(rows))
	for i, r := range rows {
		all[i] = report.Hub{
			Topic: r.Topic, Hub: r.Hub, State: crawl.SubscriptionState(r.State), Why: r.Why, AskedAt: timeOf(r.AskedAt),
			LeaseUntil: timeOf(r.LeaseUntil), PushedAt: timeOf(r.PushedAt), NextAt: r.NextAt,
		}
	}
	return all, translate("read the hubs of "+domain, err)
}
