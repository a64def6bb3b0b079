package activities

import (
	"context"
	"errors"

	"github.com/mosey-web/mosey/crawl"
)

// LiftControlInput lifts decisions of some kinds about a domain.
type LiftControlInput struct {
	Domain string              `json:"domain"`
	Kinds  []crawl.ControlType `json:"kinds"`
	By     string              `json:"lifted_by"`
}

// LiftControl lifts an operator's decisions about a domain. Missing ones are no error.
func (a *Activities) LiftControl(ctx context.Context, in LiftControlInput) error {
	err := a.store.LiftControls(ctx, in.Domain, in.By, in.Kinds...)
	if errors.Is(err, crawl.ErrNotFound) {
		return nil
	}
	return err
}
