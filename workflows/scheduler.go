package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Schedule is an action that Temporal's Schedules repeat.
type Schedule struct {
	Name string `json:"name"`
	// Either Every, a span, or Cron, five fields in UTC, is set.
	Every settings.Duration `json:"every,omitempty"`
	Cron  string            `json:"cron,omitempty"`
	// Seed or Recrawl is the action.
	Seed    *SeedInput               `json:"seed,omitempty"`
	Recrawl *activities.RecrawlInput `json:"recrawl,omitempty"`
}

// ScheduleInfo is an existing schedule.
type ScheduleInfo struct {
	Name     string    `json:"name"`
	Workflow string    `json:"workflow"`
	Run      string    `json:"run"`
	Paused   bool      `json:"paused,omitempty"`
	Last     time.Time `json:"last,omitzero"`
	Next     time.Time `json:"next,omitzero"`
}

const minScheduleInterval = time.Minute

// Validate checks a new schedule. Errors wrap crawl.ErrInvalid.
func (s Schedule) Validate() error {
	if err := crawl.ValidateRunName(s.Name); err != nil {
		return fmt.Errorf("schedule name: %w", err)
	}
	switch {
	case (s.Every == 0) == (s.Cron == ""):
		return fmt.Errorf("%w: want either every or cron", crawl.ErrInvalid)
	case s.Cron == "" && time.Duration(s.Every) < minScheduleInterval:
		return fmt.Errorf("%w: every %s: want %s or more", crawl.ErrInvalid, s.Every, minScheduleInterval)
	case s.Seed != nil:
		return s.Seed.validate()
	}
	return s.Recrawl.Validate()
}

// catchUpWindow limits how late a missed time is made up for, because seeding twice in a row is
// useless.
const catchUpWindow = time.Hour

// AddSchedule adds a schedule. It skips a time while its workflow runs.
func (s Starter) AddSchedule(ctx context.Context, schedule Schedule) error {
	action := &client.ScheduleWorkflowAction{TaskQueue: crawl.TaskQueue}
	var run string
	if schedule.Seed != nil {
		run, action.Workflow, action.Args = schedule.Seed.Run, SeedWorkflowName, []any{*schedule.Seed}
	} else {
		run, action.Workflow, action.Args = schedule.Recrawl.Run, RecrawlWorkflowName, []any{*schedule.Recrawl}
	}
	action.ID = schedulePrefix + schedule.Name
	action.TypedSearchAttributes = temporal.NewSearchAttributes(attrRun.ValueSet([]string{run}), attrStatus.ValueSet(StatusRunning))
	spec := client.ScheduleSpec{}
	if schedule.Cron != "" {
		spec.CronExpressions = []string{schedule.Cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: time.Duration(schedule.Every)}}
	}
	_, err := s.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: schedule.Name, Spec: spec, Action: action, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: catchUpWindow,
		Memo: map[string]any{memoRun: run},
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return crawl.NewStateError("schedule %q exists: run mosey schedule remove %s first", schedule.Name, schedule.Name)
	}
	if err != nil {
		return fmt.Errorf("add schedule %s: %w", schedule.Name, err)
	}
	return nil
}

// schedulePrefix begins the ids of workflows that a schedule starts.
const schedulePrefix = "schedule/"

func isScheduled(ctx workflow.Context) bool {
	return strings.HasPrefix(workflow.GetInfo(ctx).WorkflowExecution.ID, schedulePrefix)
}

const memoRun = "run"

// Schedules lists Mosey's schedules, by name.
func (s Starter) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	list, err := s.Client.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 100})
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	var all []ScheduleInfo
	for list.HasNext() {
		entry, err := list.Next()
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		info := ScheduleInfo{Name: entry.ID, Workflow: entry.WorkflowType.Name, Paused: entry.Paused}
		if info.Workflow != SeedWorkflowName && info.Workflow != RecrawlWorkflowName {
			continue
		}
		if data := entry.Memo.GetFields()[memoRun]; data != nil {
			if err := converter.GetDefaultDataConverter().FromPayload(data, &info.Run); err != nil {
				return nil, fmt.Errorf("read schedule %s: %w", entry.ID, err)
			}
		}
		if n := len(entry.RecentActions); n > 0 {
			info.Last = entry.RecentActions[n-1].ActualTime
		}
		if len(entry.NextActionTimes) > 0 {
			info.Next = entry.NextActionTimes[0]
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b ScheduleInfo) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// RemoveSchedule removes a schedule, but not its workflows, or returns crawl.ErrNotFound.
func (s Starter) RemoveSchedule(ctx context.Context, name string) error {
	err := s.Client.ScheduleClient().GetHandle(ctx, name).Delete(ctx)
	switch {
	case NotFound(err):
		return fmt.Errorf("schedule %q: %w", name, crawl.ErrNotFound)
	case err != nil:
		return fmt.Errorf("remove schedule %s: %w", name, err)
	}
	return nil
}
