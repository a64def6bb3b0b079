package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/network"
)

// Types of the application errors that activities return. They are part of the
// on-disk format: retry policies and people know them by name.
const (
	// TypeSiteTrouble: the site answered with trouble. The details are the activity's result,
	// which says when to go on.
	TypeSiteTrouble = "SiteTrouble"
	// TypeNetworkDown: this machine's network seems to be down; try again after the
	// delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeBadInput: the input is wrong and trying again cannot help.
	TypeBadInput = "BadInput"
)

// siteTrouble is a site that answers with trouble, or not at all, and is asked again later.
type siteTrouble struct{ what string }

func (t *siteTrouble) Error() string { return t.what }

func isSiteTrouble(err error) bool {
	_, ok := errors.AsType[*siteTrouble](err)
	return ok
}

// orSiteTrouble has a site's trouble end the activity with a failure whose details are its
// result, and leaves other errors as they are. The wait is a timer of the workflow, so that
// Temporal's UI shows what each activity has asked for, and each wait with its reason. It is
// the normal course of a crawl: benign, so that it neither logs as an error nor counts as a
// failure.
func orSiteTrouble(err error, result any) error {
	if !isSiteTrouble(err) {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), TypeSiteTrouble, temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Category:     temporal.ApplicationErrorCategoryBenign,
		Details:      []any{result},
	})
}

// ResultOf reads the result of an activity that a site's trouble has ended, and returns any
// other error.
func ResultOf(err error, result any) error {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == TypeSiteTrouble && app.HasDetails() {
		return app.Details(result)
	}
	return err
}

// orNetworkDown makes an outage of this machine's network an error that carries the
// wait, and leaves other errors as they are.
func orNetworkDown(err error) error {
	down, ok := errors.AsType[*network.Down](err)
	if !ok {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(down.Error(), TypeNetworkDown, temporal.ApplicationErrorOptions{
		NextRetryDelay: max(down.RetryIn, time.Millisecond), // zero would mean "not set"
		Category:       temporal.ApplicationErrorCategoryBenign,
	})
}

// badInput fails the activity, and with it the workflow, for good.
func badInput(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), TypeBadInput, temporal.ApplicationErrorOptions{
		NonRetryable: true,
	})
}

// orBadInput makes refused input non-retryable and leaves other errors, which
// are trouble of our own, to the retry policy.
func orBadInput(err error) error {
	if errors.Is(err, crawl.ErrInvalid) || errors.Is(err, crawl.ErrNotFound) {
		return badInput(err)
	}
	return err
}
