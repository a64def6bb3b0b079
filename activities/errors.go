package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/request"
)

// Types of the application errors that activities return. They are part of the
// on-disk format: retry policies and people know them by name.
const (
	// TypeSiteTrouble: the site failed. The details are the activity's result, which has the wait.
	TypeSiteTrouble = "SiteTrouble"
	// TypeNetworkDown: our network seems to be down; retry after the delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeStopping: the worker stops; try again elsewhere, at once.
	TypeStopping = "Stopping"
	// TypeNoPlace: as many requests are in flight as may be; try again, here or elsewhere.
	TypeNoPlace = "NoPlace"
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

// orSiteTrouble turns a site's failure into an error whose details are the activity's result,
// and returns other errors unchanged. The wait is a timer of the workflow, so that Temporal's UI
// shows it with its reason. The error is benign: it neither logs nor counts as a failure.
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

// ResultOf reads the result of an activity that a site's failure ended, or returns other errors.
func ResultOf(err error, result any) error {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == TypeSiteTrouble && app.HasDetails() {
		return app.Details(result)
	}
	return err
}

// noPlacePause is how long an activity that had no place for its request waits to be tried again.
const noPlacePause = 5 * time.Second

// orNotNow adds the wait to an error that keeps this worker from making requests.
func orNotNow(err error) error {
	var kind string
	wait := time.Millisecond // zero would mean "not set"
	down, isDown := errors.AsType[*network.Down](err)
	switch {
	case isDown:
		kind, wait = TypeNetworkDown, max(down.RetryIn, wait)
	case errors.Is(err, request.ErrStopping):
		kind = TypeStopping
	case errors.Is(err, request.ErrNoPlace):
		kind, wait = TypeNoPlace, noPlacePause
	default:
		return err
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), kind, temporal.ApplicationErrorOptions{
		NextRetryDelay: wait, Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// badInput fails the activity, and with it the workflow, for good.
func badInput(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), TypeBadInput, temporal.ApplicationErrorOptions{
		NonRetryable: true,
	})
}

// orBadInput makes refused input non-retryable, and leaves other errors to the retry policy.
func orBadInput(err error) error {
	if errors.Is(err, crawl.ErrInvalid) || errors.Is(err, crawl.ErrNotFound) {
		return badInput(err)
	}
	return err
}
