package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/sitemap"
)

// hubOf is the hub that tells of changes of a feed (W3C WebSub, section 4): the first that the header names, or else
// the feed. The topic is the feed's own URL, or the one of its domain that it names as such. It is nil where the run
// does not ask for the feed again. A publisher who forbids the purpose of the run has none.
func (r *reading) hubOf(resp *fetch.Response, feed sitemap.FeedDoc, unread error) *crawl.FeedHub {
	if !r.d.Run.Settings.Recrawls() || !r.d.Crawl.Kind.Traits().Pushed {
		return nil
	}
	named, self := feed.Hub, feed.Self
	if hub := headerLink(resp.Header, "hub"); hub != "" {
		named, self = hub, cmp.Or(headerLink(resp.Header, "self"), self)
	}
	if named == "" && unread != nil {
		return nil // it says nothing
	}
	hub, err := r.url.Resolve(named)
	allowed, _ := usage.Allows(*r.d.Run.Settings.Purpose, r.said(resp))
	if named == "" || err != nil || !allowed {
		return &crawl.FeedHub{}
	}
	return &crawl.FeedHub{Topic: r.topic(self), Hub: hubAddress(hub)}
}

// topic is the URL under which a hub knows the feed. One that the feed gives in full is left as it is written: the hub
// compares it with what the publisher has told it.
func (r *reading) topic(self string) string {
	own, err := r.url.Resolve(self)
	switch {
	case self == "" || err != nil || own.Domain() != r.url.Domain():
		return r.url.String()
	case len(self) <= urls.MaxLength && strings.Contains(self, "://") && crawl.CleanText(self, urls.MaxLength) == self:
		return self
	}
	return own.String()
}

func headerLink(header http.Header, rel string) string {
	for _, value := range header.Values("Link") {
		if target, found := usage.LinkTo(value, rel); found {
			return target
		}
	}
	return ""
}

func hubAddress(u urls.URL) *crawl.HubAddress {
	return &crawl.HubAddress{URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Registered: u.PartOf()}
}

// subscription is the form with which a hub is asked to tell of changes (section 5.1); nil is that no feed needs it
// any more.
func (r *reading) subscription(ctx context.Context) (url.Values, error) {
	s, err := r.Store.Subscription(ctx, r.d.Crawl.ID)
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		return nil, nil //nolint:nilnil // there is nothing to ask
	case err != nil:
		return nil, err
	}
	r.unsaid = []string{s.Token, s.Secret}
	return url.Values{
		"hub.mode": {"subscribe"}, "hub.topic": {s.Topic}, "hub.callback": {s.URL()}, "hub.secret": {s.Secret},
		"hub.lease_seconds": {strconv.Itoa(int(crawl.LeaseAsked.Seconds()))},
	}, nil
}

// hub reads what a hub answers: any 2xx is that it will confirm the subscription, and 307 and 308 say where to ask
// instead.
func (r *reading) hub(at *crawl.Attempt, resp *fetch.Response) {
	at.Subscribed = &crawl.Subscribed{}
	switch {
	case resp == nil:
	case resp.Status < 300:
		at.Subscribed.Accepted = true
	case resp.Status == http.StatusTemporaryRedirect || resp.Status == http.StatusPermanentRedirect:
		to, err := r.url.Resolve(resp.Header.Get("Location"))
		if err != nil || to == r.url {
			at.Error = "the hub redirects to nowhere"
			return
		}
		at.Error = "the hub sends us to " + urls.Shorten(r.withoutSecrets(to.String()), hubShown)
		at.Subscribed.Moved = hubAddress(to)
	default:
		at.Error = fmt.Sprintf("the hub answered %d", resp.Status)
		if why := crawl.CleanText(strings.TrimSpace(r.withoutSecrets(string(resp.Body))), hubShown); why != "" {
			at.Error += ": " + why
		}
	}
}

// withoutSecrets is a text of a hub that may repeat what it was asked.
func (r *reading) withoutSecrets(text string) string {
	for _, secret := range r.unsaid {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

// hubShown bounds what is repeated of a hub's answer, in bytes.
const hubShown = 200

// silent notes that the hub of a feed has not told of its changes.
func (r *reading) silent(at *crawl.Attempt) {
	if at.Hub != nil && at.Recrawl != nil && !r.d.Crawl.PushedSince.IsZero() && decide.Silent(at.Recrawl.History) {
		at.Hub.Silent = true
	}
}
