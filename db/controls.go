package db

import (
	"context"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// SetControl stores a person's decision about a domain, known or not, in place of
// an earlier one of its kind. It holds from the next request on. A Decision that was
// stored before changes nothing, and so does not undo what was decided since.
func (s *Store) SetControl(ctx context.Context, domain string, c crawl.Control) error {
	return s.change(ctx, "set the "+string(c.Type)+" of "+domain, func(q *dbsqlc.Queries) error {
		return setControl(ctx, q, domain, c)
	})
}

// BlockToForget blocks a domain, and stores that what its pages said is to be erased. Who asks again
// before all of it is gone goes on with what was begun.
func (s *Store) BlockToForget(ctx context.Context, domain string, c crawl.Control) error {
	c.Type = crawl.ControlBlock
	return s.change(ctx, "block "+domain, func(q *dbsqlc.Queries) error {
		if err := setControl(ctx, q, domain, c); err != nil {
			return err
		}
		return q.ForgetAsk(ctx, dbsqlc.ForgetAskParams{Domain: domain, AskedBy: c.SetBy, Reason: c.Reason})
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
	decided, err := q.ControlDecided(ctx, dbsqlc.ControlDecidedParams{Domain: domain, Decision: c.Decision})
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
	if c.Until.IsZero() && givesUp(c.Type) {
		if err := q.DomainBlock(ctx, dbsqlc.DomainBlockParams{Domain: domain, Reason: c.Reason}); err != nil {
			return err
		}
	}
	if reasons.OfControl(kind) != "" {
		return q.DueUpdate(ctx, []string{domain})
	}
	return q.DomainsWake(ctx, []string{domain})
}

// givesUp reports whether a control without an end gives a domain up until a person lifts it.
func givesUp(kind crawl.ControlType) bool {
	return kind == crawl.ControlStop || kind == crawl.ControlBlock
}

// LiftControls takes decisions about a domain back, or returns crawl.ErrNotFound if none of
// them is in force. After a stop or block the domain is asked again, even if it was given up.
func (s *Store) LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error {
	p := dbsqlc.ControlsLiftParams{Domain: domain, By: by}
	for _, k := range kinds {
		p.Kinds = append(p.Kinds, string(k))
	}
	return s.change(ctx, "control of "+domain, func(q *dbsqlc.Queries) error {
		if _, err := q.DomainLock(ctx, domain); err != nil {
			return err
		}
		lifted, err := q.ControlsLift(ctx, p)
		if err == nil && slices.ContainsFunc(kinds, givesUp) {
			var more int64
			more, err = q.TroublesLift(ctx, []string{domain})
			lifted += more
		}
		if err == nil && lifted == 0 {
			err = crawl.ErrNotFound
		}
		if err != nil {
			return err
		}
		return q.DomainsWake(ctx, []string{domain})
	})
}

// RetryDomain has a domain that was given up, and its origins whose robots.txt could
// not be read, asked again: one request decides then. It returns crawl.ErrNotFound
// where there is nothing of the kind. What a server has asked for, and what a person
// has decided, holds all the same.
func (s *Store) RetryDomain(ctx context.Context, domain string) error {
	return s.change(ctx, "trouble of "+domain, func(q *dbsqlc.Queries) error {
		lifted, err := q.TroublesLift(ctx, []string{domain})
		if err == nil && lifted == 0 {
			err = crawl.ErrNotFound
		}
		if err != nil {
			return err
		}
		return q.DomainsWake(ctx, []string{domain})
	})
}
