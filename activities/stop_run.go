package activities

import "context"

// StopRunInput names a run, and why it is stopped.
type StopRunInput struct {
	Run    string `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// StopRun makes a run stop: none of its pages is requested any more.
func (a *Activities) StopRun(ctx context.Context, in StopRunInput) error {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return orBadInput(err)
	}
	reason := "stopped"
	if in.Reason != "" {
		reason += ": " + in.Reason
	}
	_, err = a.store.StopRun(ctx, run.ID, reason)
	return err
}
