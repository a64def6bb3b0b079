package db

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/lists"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ListEntry is an entry of a list, with its author and reason.
type ListEntry struct {
	List   lists.List  `json:"list"`
	Entry  string      `json:"entry"`
	Kind   lists.Match `json:"kind"`
	Reason string      `json:"reason,omitempty"`
	SetBy  string      `json:"set_by"`
	SetAt  time.Time   `json:"set_at"`
}

const (
	// listChunk is the number of entries in one transaction or query.
	listChunk = 5_000
	// networksCacheLifetime is the lifetime of the cache of listsHaveNetworks.
	networksCacheLifetime = time.Second
)

// AddToList adds entries to a list from the next request on, or changes their reasons. It returns
// the number of new ones.
func (s *Store) AddToList(ctx context.Context, list lists.List, entries []lists.Entry, reason, by string) (added int, err error) {
	for chunk := range slices.Chunk(entries, listChunk) {
		p := dbsqlc.ListAddParams{List: string(list), Reason: reason, By: by}
		for _, e := range chunk {
			p.Entries, p.Kinds = append(p.Entries, e.Text), append(p.Kinds, string(e.Match))
		}
		var n int32
		err := s.change(ctx, "add to the list", func(q *dbsqlc.Queries) (err error) {
			if n, err = q.ListAdd(ctx, p); err != nil {
				return err
			}
			if list == lists.Allow {
				return listsAllow(ctx, q)
			}
			return q.ListUpdateForbidden(ctx, p.Entries)
		})
		if err != nil {
			return added, err
		}
		added += int(n)
	}
	return added, nil
}

// RemoveFromList removes entries from a list, or all, and decides again about the domains that they
// forbade. It returns the number of entries.
func (s *Store) RemoveFromList(ctx context.Context, list lists.List, all bool, entries []lists.Entry) (removed int, err error) {
	p := dbsqlc.ListRemoveParams{List: string(list)}
	if !all {
		p.Entries = mapRows(entries, func(e lists.Entry) string { return e.Text })
	}
	err = s.change(ctx, "remove from the list", func(q *dbsqlc.Queries) error {
		n, err := q.ListRemove(ctx, p)
		if err != nil {
			return err
		}
		removed = int(n)
		return listsAllow(ctx, q)
	})
	return removed, err
}

// listsAllow decides again about domains and networks that the lists forbade.
func listsAllow(ctx context.Context, q *dbsqlc.Queries) error {
	if err := q.FinishesAwait(ctx, nil); err != nil {
		return err
	}
	if err := q.ListsUpdateAllowed(ctx); err != nil {
		return err
	}
	_, err := q.DomainsLiftRefusal(ctx, []string{"0.0.0.0/0", "::/0"})
	return err
}

// ListEntries calls yield for the entries of a list, in the order of their texts.
func (s *Store) ListEntries(ctx context.Context, list lists.List, yield func(ListEntry) error) error {
	for after := ""; ; {
		rows, err := s.q.ListEntries(ctx, dbsqlc.ListEntriesParams{List: string(list), After: after, Max: listChunk})
		if err != nil {
			return translate("read the list", err)
		}
		for _, r := range rows {
			e := ListEntry{List: list, Entry: r.Entry, Kind: lists.Match(r.Kind), Reason: r.Reason, SetBy: r.SetBy, SetAt: r.SetAt}
			if err := yield(e); err != nil {
				return err
			}
			after = r.Entry
		}
		if len(rows) < listChunk {
			return nil
		}
	}
}

// ListSizes counts the entries of the lists.
func (s *Store) ListSizes(ctx context.Context) (map[lists.List]int64, error) {
	rows, err := s.q.ListSizes(ctx)
	sizes := make(map[lists.List]int64, len(rows))
	for _, r := range rows {
		sizes[lists.List(r.List)] = r.Entries
	}
	return sizes, translate("read the lists", err)
}

// listedNetworks caches whether the lists have networks.
type listedNetworks struct {
	mu     sync.Mutex
	found  bool
	readAt time.Time
}

// AddressListed returns the list entry that forbids requests for a domain to an address, if any.
// It seldom queries the database while the lists have no networks.
func (s *Store) AddressListed(ctx context.Context, domain string, addr netip.Addr) (c crawl.Control, listed bool, err error) {
	if found, err := s.listsHaveNetworks(ctx); err != nil || !found {
		return c, false, err
	}
	doc, err := s.q.AddressListed(ctx, dbsqlc.AddressListedParams{Domain: domain, Ip: addr})
	if err != nil || len(doc) == 0 {
		return c, false, translate("look up an address in the lists", err)
	}
	if err := json.Unmarshal(doc, &c); err != nil {
		return c, false, fmt.Errorf("read the entry of a list: %w", err)
	}
	return c, true, nil
}

func (s *Store) listsHaveNetworks(ctx context.Context) (bool, error) {
	s.networks.mu.Lock()
	defer s.networks.mu.Unlock()
	if time.Since(s.networks.readAt) < networksCacheLifetime {
		return s.networks.found, nil
	}
	found, err := s.q.ListsHaveNetworks(ctx)
	if err != nil {
		return false, translate("read the lists", err)
	}
	s.networks.found, s.networks.readAt = found, time.Now()
	return found, nil
}
