package db

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ChangeRun changes an existing run from the next request on, stores the author, and returns the
// run. A repeated decision has no effect. Errors wrap crawl.ErrNotFound or crawl.ErrInvalid.
func (s *Store) ChangeRun(ctx context.Context, name string, c crawl.RunChange) (crawl.Run, error) {
	if err := c.Validate(time.Now()); err != nil {
		return crawl.Run{}, err
	}
	var row dbsqlc.CrawlRun
	err := s.change(ctx, "run "+name, func(q *dbsqlc.Queries) (err error) {
		if row, err = q.RunLock(ctx, name); err != nil {
			return err
		}
		if decided, err := q.RunDecisionExists(ctx, dbsqlc.RunDecisionExistsParams{RunID: row.ID, Decision: c.Decision}); err != nil || decided {
			return err
		}
		row, err = s.changeRun(ctx, q, row, c)
		return err
	})
	return s.run(row, err)
}

func (s *Store) changeRun(ctx context.Context, q *dbsqlc.Queries, row dbsqlc.CrawlRun, c crawl.RunChange) (dbsqlc.CrawlRun, error) {
	if c.Action == crawl.ChangeSet {
		return s.upsertRun(ctx, q, row.Name, c)
	}
	status, err := crawl.RunStatus(row.Status).Apply(c.Action)
	if err != nil {
		return row, err
	}
	if c.Action == crawl.ChangeResume && row.Status != dbsqlc.RunStatusPaused {
		if err = checkPurpose(ctx, q, row); err == nil {
			err = q.RunStart(ctx, row.ID)
		}
	} else {
		reason := ""
		if status != crawl.RunRunning {
			reason = string(status) + " " + cmp.Or(c.Event, "by "+c.SetBy)
			if c.Reason != "" {
				reason += ": " + c.Reason
			}
		}
		err = q.RunSetStatus(ctx, dbsqlc.RunSetStatusParams{
			ID: row.ID, Status: dbsqlc.RunStatus(status), Reason: reason, Until: timeOrNil(c.Until),
		})
	}
	if err != nil {
		return row, err
	}
	if err := addRunChange(ctx, q, row.ID, c); err != nil {
		return row, err
	}
	return q.RunByName(ctx, row.Name)
}

// upsertRun creates a run or changes its settings, and stores the author.
func (s *Store) upsertRun(ctx context.Context, q *dbsqlc.Queries, name string, c crawl.RunChange) (row dbsqlc.CrawlRun, err error) {
	all, err1 := json.Marshal(c.Settings.WithDefaults())
	changes, err2 := json.Marshal(c.Settings)
	if err := errors.Join(err1, err2); err != nil {
		return row, fmt.Errorf("settings: %w", err)
	}
	old, err := orZero(q.RunSettings(ctx, name))
	if err != nil {
		return row, err
	}
	row, err = q.RunUpsert(ctx, dbsqlc.RunUpsertParams{Name: name, Settings: all, Changes: changes})
	if err != nil {
		return row, err
	}
	if err := checkPurpose(ctx, q, row); err != nil {
		return row, err
	}
	if old == nil {
		c.Action = crawl.ChangeCreate
	}
	if c.OldValues, c.NewValues, err = changedSettings(old, row.Settings, changes); err != nil {
		return row, err
	}
	if len(c.NewValues) > 0 || old == nil || c.Decision != "" {
		if err := addRunChange(ctx, q, row.ID, c); err != nil {
			return row, err
		}
	}
	if string(changes) == "{}" || old == nil {
		return row, nil
	}
	return row, s.applyChanges(ctx, q, row, old)
}

// checkPurpose returns an error if another run that is not over has another purpose. Sites treat a
// crawler with several purposes by its strictest.
func checkPurpose(ctx context.Context, q *dbsqlc.Queries, row dbsqlc.CrawlRun) error {
	other, err := orZero(q.RunOfOtherPurpose(ctx, row.ID))
	if err != nil || other.Name == "" {
		return err
	}
	return crawl.NewStateError("run %s has the purpose %s, and run %s the purpose %s: one User-Agent has one purpose; "+
		"stop a run (mosey stop run:%s), or use another database with another --user-agent",
		row.Name, other.Own, other.Name, other.Purpose, other.Name)
}

// applyChanges decides again about crawled or skipped pages if the new settings want more.
func (s *Store) applyChanges(ctx context.Context, q *dbsqlc.Queries, row dbsqlc.CrawlRun, old []byte) error {
	before, err := s.settingsOf(old)
	after, err2 := s.settingsOf(row.Settings)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if *before.MaxPagesPerRegistered < 0 && *after.MaxPagesPerRegistered >= 0 {
		// the counts of an earlier budget were not continued
		if err := q.RunRegisteredForget(ctx, row.ID); err != nil {
			return err
		}
	}
	if *before.Window != *after.Window {
		if err := q.RunWindows(ctx, dbsqlc.RunWindowsParams{ID: row.ID, Old: *before.Window}); err != nil {
			return err
		}
	}
	if decide.AddsURLs(before, after) {
		if err := q.RunRequeueSkipped(ctx, row.ID); err != nil {
			return err
		}
	}
	// due are the values that affect the due times of domains (functions/due.sql).
	due := func(s settings.Settings) [5]any {
		return [5]any{*s.MaxPagesPerDomain, *s.MaxPagesPerRegistered, *s.MaxBytesPerDomain, *s.MaxPages < 0, s.TakesImages()}
	}
	if due(before) != due(after) {
		if err := runDueUpdate(ctx, q, row.ID); err != nil {
			return err
		}
	}
	if decide.Widens(before, after) {
		return q.RunWiden(ctx, row.ID)
	}
	return nil
}

// runDueUpdate computes when the domains of a run are due, some at a time.
func runDueUpdate(ctx context.Context, q *dbsqlc.Queries, id int64) error {
	if err := q.FinishesAwait(ctx, &id); err != nil {
		return err
	}
	for after := ""; ; {
		last, err := q.RunDueUpdate(ctx, dbsqlc.RunDueUpdateParams{RunID: id, After: after})
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

func addRunChange(ctx context.Context, q *dbsqlc.Queries, id int64, c crawl.RunChange) error {
	was, err := documentOrNil(c.OldValues)
	value, err2 := documentOrNil(c.NewValues)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("store a change of a run: %w", err)
	}
	return q.RunChangeAdd(ctx, dbsqlc.RunChangeAddParams{
		RunID: id, Kind: string(c.Action), OldValue: was, Value: value, Reason: cmp.Or(c.Reason, c.Event), Until: timeOrNil(c.Until),
		SetBy: c.SetBy, Decision: c.Decision,
	})
}

func documentOrNil(settings map[string]json.RawMessage) ([]byte, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	return json.Marshal(settings)
}

// changedSettings returns the given settings that have changed. A new run has no old settings.
func changedSettings(old, settings, given []byte) (oldValues, newValues map[string]json.RawMessage, err error) {
	var before, after, names map[string]json.RawMessage
	err = errors.Join(json.Unmarshal(settings, &after), json.Unmarshal(given, &names), unmarshalNullable(old, &before))
	if err != nil {
		return nil, nil, fmt.Errorf("read settings: %w", err)
	}
	oldValues, newValues = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name := range names {
		if bytes.Equal(before[name], after[name]) {
			continue
		}
		newValues[name] = after[name]
		if before[name] != nil {
			oldValues[name] = before[name]
		}
	}
	return oldValues, newValues, nil
}

// maxRunChanges bounds the result of RunChanges.
const maxRunChanges = 1000

// RunChanges returns at most limit changes of a run, the latest first.
func (s *Store) RunChanges(ctx context.Context, runID int64, limit int) ([]crawl.RunChange, error) {
	rows, err := s.q.RunChanges(ctx, dbsqlc.RunChangesParams{RunID: runID, Max: int32(min(max(limit, 1), maxRunChanges))})
	if err != nil {
		return nil, translate("list changes of a run", err)
	}
	changes := make([]crawl.RunChange, len(rows))
	for i, r := range rows {
		changes[i] = crawl.RunChange{
			Action: crawl.RunAction(r.Kind), Reason: r.Reason, Until: valueOf(r.Until), SetBy: r.SetBy, SetAt: r.SetAt,
		}
		if err := errors.Join(
			unmarshalNullable(r.OldValue, &changes[i].OldValues), unmarshalNullable(r.Value, &changes[i].NewValues),
		); err != nil {
			return nil, fmt.Errorf("read changes of a run: %w", err)
		}
	}
	return changes, nil
}
