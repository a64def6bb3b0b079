package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/request"
)

// Types of the application errors that activities return. They are part of the
// on-disk format: retry policies and people know them by name.
const (
	// TypeSiteTrouble: the site failed, and is left alone until Temporal makes the next attempt.
	TypeSiteTrouble = "SiteTrouble"
	// TypeNetworkDown: our network seems to be down; retry after the delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeStopping: the worker stops; try again elsewhere, or here once it is back.
	TypeStopping = "Stopping"
	// TypeNoPlace: as many requests are in flight as may be; try again, here or elsewhere.
	TypeNoPlace = "NoPlace"
	// TypeOwnTrouble: this process or its database failed; try again.
	TypeOwnTrouble = "OwnTrouble"
	// TypeBadInput: the input is wrong and trying again cannot help.
	TypeBadInput = "BadInput"
)

// siteTrouble is a site that answers with trouble, or not at all, and is left alone for a wait.
type siteTrouble struct {
	what string
	wait time.Duration
}

func (t *siteTrouble) Error() string { return t.what }

func isSiteTrouble(err error) bool {
	_, ok := errors.AsType[*siteTrouble](err)
	return ok
}

// FirstBackoff is the first interval of a domain's retry policy, by the one that an activity has named;
// 0 is none.
func FirstBackoff(named settings.Duration) time.Duration {
	return min(cmp.Or(time.Duration(named), politeness.BackoffFactor*politeness.BackoffBase), politeness.BackoffMax)
}

// retried is the error of an attempt. After a site's failure the domain's slot is closed until
// Temporal makes the next attempt: when the retry policy says (see FirstBackoff), or after NextRetryDelay
// where the wait is another, as after a Retry-After. The error is benign: it neither logs nor counts as a
// failure. A wait that is longer than the policy's longest is not an error: it is a timer of the
// workflow. Trouble of our own is waited for shortly, however long the site's last wait was.
func retried(ctx context.Context, err error, named settings.Duration) error {
	attempt := callIn(ctx).Attempt
	site, isSite := errors.AsType[*siteTrouble](err)
	if !isSite {
		return orNotNow(err, attempt)
	}
	if site.wait > politeness.BackoffMax {
		return nil
	}
	options := temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign}
	delay := FirstBackoff(named) / politeness.BackoffFactor
	if politeness.Backoff(politeness.TroubleServer, int(attempt), delay, 0) != site.wait {
		options.NextRetryDelay = max(site.wait, time.Millisecond)
	}
	return temporal.NewApplicationErrorWithOptions(site.what, TypeSiteTrouble, options)
}

// isRetried reports whether an attempt has ended with a site's failure, and another one is made.
func isRetried(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == TypeSiteTrouble
}

const (
	// noPlacePause is how long an activity that had no place for its request waits to be tried again.
	noPlacePause = 5 * time.Second
	// stoppingPause is the same where the worker stops. It may still poll for a moment.
	stoppingPause = time.Second
	// ownPauseFirst and ownPause are the same after trouble of our own, such as a database that is away.
	ownPauseFirst, ownPause = time.Second, 15 * time.Second
)

// orNotNow adds the wait to an error that keeps this worker from making requests.
func orNotNow(err error, attempt int32) error {
	options := temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign}
	down, isDown := errors.AsType[*network.Down](err)
	_, told := errors.AsType[*temporal.ApplicationError](err)
	var kind string
	switch {
	case err == nil, told, errors.Is(err, context.Canceled):
		return err
	case isDown:
		kind, options.NextRetryDelay = TypeNetworkDown, max(down.RetryIn, time.Millisecond) // zero would mean "not set"
	case errors.Is(err, request.ErrStopping):
		kind, options.NextRetryDelay = TypeStopping, stoppingPause
	case errors.Is(err, request.ErrNoPlace):
		kind, options.NextRetryDelay = TypeNoPlace, noPlacePause
	default:
		kind, options.NextRetryDelay = TypeOwnTrouble, ownPause
		options.Category, options.Cause = temporal.ApplicationErrorCategoryUnspecified, err
		if attempt <= 1 {
			options.NextRetryDelay = ownPauseFirst
		}
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), kind, options)
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
