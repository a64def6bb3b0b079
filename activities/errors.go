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

// Types of the application errors that activities return. They are part of the on-disk format:
// retry policies and people know them by name.
const (
	// TypeSiteTrouble: the site failed and is not requested until Temporal makes the next attempt.
	TypeSiteTrouble = "SiteFailure"
	// TypeNetworkDown: our network seems to be down; retry after the delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeStopping: the worker stops; retry elsewhere, or here after a restart.
	TypeStopping = "Stopping"
	// TypeNoPlace: the limit of concurrent requests is reached; retry here or elsewhere.
	TypeNoPlace = "NoPlace"
	// TypeOwnTrouble: this process or its database failed; retry.
	TypeOwnTrouble = "InternalFailure"
	// TypeBadInput: the input is wrong and a retry cannot help.
	TypeBadInput = "BadInput"
)

type siteTrouble struct {
	what string
	wait time.Duration
}

func (t *siteTrouble) Error() string { return t.what }

func isSiteTrouble(err error) bool {
	_, ok := errors.AsType[*siteTrouble](err)
	return ok
}

// FirstBackoff returns the first interval of a domain's retry policy, given the interval that an
// activity has named. 0 means no interval was named.
func FirstBackoff(named settings.Duration) time.Duration {
	return min(cmp.Or(time.Duration(named), politeness.BackoffFactor*politeness.BackoffBase), politeness.BackoffMax)
}

// retried converts the error of an attempt. After a site's failure the domain's slot is closed
// until Temporal makes the next attempt. The retry policy gives its time (see FirstBackoff), or
// NextRetryDelay if the wait differs, as after a Retry-After. The error is benign: it neither logs
// nor counts as a failure. A wait longer than the policy's longest is no error, but a timer of the
// workflow. Failures of our own are retried soon, however long the site's last wait was.
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

func isRetried(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == TypeSiteTrouble
}

const (
	// noPlacePause delays the retry of an activity that got no permit for its request.
	noPlacePause = 5 * time.Second
	// stoppingPause delays the retry if the worker stops. It may still poll for a moment.
	stoppingPause = time.Second
	// ownPauseFirst and ownPause delay retries after our own failures, such as a lost database.
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

// badInput fails the activity and its workflow permanently.
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
