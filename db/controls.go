package db

import (
	"context"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// SetControl stores an operator's decision about a domain, known or not, in place of an earlier one
// of its kind, from the next request on. A repeated Decision does not undo later ones.
func (s *Store) SetControl(ctx context.Context, domain string, c crawl.Control) error {
	return s.change(ctx, "set the "+string(c.Type)+" of "+domain, func(q *dbsqlc.Queries) error {
		return setControl(ctx, q, domain, c)
	})
}

// BlockToForget blocks a domain, and stores that its texts are to be erased. A repeated call
// resumes the erasure.
func (s *Store) BlockToForget(ctx context.Context, domain string, c crawl.Control) error {
	c.Type = crawl.ControlBlock
	return s.change(ctx, "block "+domain, func(q *dbsqlc.Queries) error {
		if err := setControl(ctx, q, domain, c); err != nil {
			return err
		}
		return q.ErasureRequest(ctx, dbsqlc.ErasureRequestParams{Domain: domain, RequestedBy: c.SetBy, Reason: c.Reason})
	})
}

func setControl(ctx context.Context, q *dbsqlc.Queries, domain string, c crawl.Control) error {
	kind := string(c.Type)
	if err := q.DomainAdd(ctx, domain); err != nil {
		return err
	}
	if _, err := q.DomainLock(ctx, domain); err != nil {
		return err
	}
	decided, err := q.ControlDecisionExists(ctx, dbsqlc.ControlDecisionExistsParams{Domain: domain, Decision: c.Decision})
	if err != nil || decided {
		return err
	}
	if _, err := q.ControlsLift(ctx, dbsqlc.ControlsLiftParams{Domain: domain, Kinds: []string{kind}, By: c.SetBy}); err != nil {
		return err
	}
	err = q.ControlAdd(ctx, dbsqlc.ControlAddParams{
		Domain: domain, Kind: kind, Value: c.Value, Reason: c.Reason, SetBy: c.SetBy, Until: timeOrNil(c.Until), Decision: c.Decision,
	})
	if err != nil {
		return err
	}
	if c.Until.IsZero() && isPermanent(c.Type) {
		if err := q.DomainBlock(ctx, dbsqlc.DomainBlockParams{Domain: domain, Reason: c.Reason}); err != nil {
			return err
		}
	}
	if reasons.OfControl(kind) != "" {
		return q.DueUpdate(ctx, []string{domain})
	}
	return q.DomainsWake(ctx, []string{domain})
}

// isPermanent reports whether a control without an end lasts until an operator lifts it.
func isPermanent(kind crawl.ControlType) bool {
	return kind == crawl.ControlStop || kind == crawl.ControlBlock
}

// LiftControls ends decisions about a domain, or returns crawl.ErrNotFound if all have ended. After
// a stop or block the domain is requested again, even if it was abandoned.
func (s *Store) LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error {
	p := dbsqlc.ControlsLiftParams{Domain: domain, By: by}
	for _, k := range kinds {
		p.Kinds = append(p.Kinds, string(k))
	}
	return s.change(ctx, "lift controls of "+domain, func(q *dbsqlc.Queries) error {
		if _, err := q.DomainLock(ctx, domain); err != nil {
			return err
		}
		lifted, err := q.ControlsLift(ctx, p)
		if err != nil {
			return err
		}
		return wakeDomain(ctx, q, domain, lifted, slices.ContainsFunc(kinds, isPermanent))
	})
}

// RetryDomain allows one request to an abandoned domain, and to its origins with an unreadable
// robots.txt, to decide again. It returns crawl.ErrNotFound without such failures.
func (s *Store) RetryDomain(ctx context.Context, domain string) error {
	return s.change(ctx, "reset failures of "+domain, func(q *dbsqlc.Queries) error { return wakeDomain(ctx, q, domain, 0, true) })
}

// wakeDomain recomputes when a domain is due. It returns crawl.ErrNotFound if nothing was lifted,
// neither by the caller nor, with retryFailures, here.
func wakeDomain(ctx context.Context, q *dbsqlc.Queries, domain string, lifted int64, retryFailures bool) error {
	if retryFailures {
		more, err := q.FailuresClear(ctx, []string{domain})
		if err != nil {
			return err
		}
		lifted += more
	}
	if lifted == 0 {
		return crawl.ErrNotFound
	}
	return q.DomainsWake(ctx, []string{domain})
}
