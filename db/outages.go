package db

import (
	"context"
	"net/url"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// outagesShown bounds Outages.
const outagesShown = 20

// SaveOutage stores an outage of a worker's network, that it goes on, or that it has
// ended.
func (s *Store) SaveOutage(ctx context.Context, o crawl.Outage) error {
	p := dbsqlc.OutageSaveParams{Worker: o.Worker, BeganAt: o.Since, Reason: o.Reason}
	if !o.Ended.IsZero() {
		p.EndedAt = &o.Ended
	}
	return translate("store an outage of "+o.Worker, s.q.OutageSave(ctx, p))
}

// Outages are those that last now, at most 20.
func (s *Store) Outages(ctx context.Context) ([]crawl.Outage, error) {
	rows, err := s.q.OutageList(ctx, outagesShown)
	if err != nil {
		return nil, translate("read the outages", err)
	}
	outages := make([]crawl.Outage, len(rows))
	for i, r := range rows {
		outages[i] = crawl.Outage{Worker: r.Worker, Since: r.BeganAt, Reason: r.Reason}
	}
	return outages, nil
}

// hostsReached bounds HostsReached.
const hostsReached = 8

// HostsReached are some hosts that answered when they were last asked for their robots.txt.
func (s *Store) HostsReached(ctx context.Context) ([]string, error) {
	origins, err := s.q.OriginsReached(ctx, hostsReached)
	if err != nil {
		return nil, translate("read which hosts were reached", err)
	}
	var hosts []string
	for _, origin := range origins {
		if u, err := url.Parse(origin); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts, nil
}
