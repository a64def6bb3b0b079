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
// retry policies and operators know them by name.
const (
	// TypeSiteFailure: the site failed and is not requested until Temporal makes the next attempt.
	TypeSiteFailure = "SiteFailure"
	// TypeNetworkDown: our network seems to be down; retry after the delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeStopping: the worker stops; retry elsewhere, or here after a restart.
	TypeStopping = "Stopping"
	// TypeNoCapacity: the limit of concurrent requests is reached; retry here or elsewhere.
	TypeNoCapacity = "NoPlace"
	// TypeInternalFailure: this process or its database failed; retry.
	TypeInternalFailure = "InternalFailure"
	// TypeBadInput: the input is invalid and a retry cannot help.
	TypeBadInput = "BadInput"
)

type siteFailure struct {
	message string
	wait    time.Duration
}

func (t *siteFailure) Error() string { return t.message }

func isSiteFailure(err error) bool {
	_, ok := errors.AsType[*siteFailure](err)
	return ok
}

// FirstBackoff returns the first interval of a domain's retry policy, at most
// politeness.BackoffMax: firstInterval, or the default if that is 0.
func FirstBackoff(firstInterval settings.Duration) time.Duration {
	return min(cmp.Or(time.Duration(firstInterval), politeness.BackoffFactor*politeness.BackoffBase), politeness.BackoffMax)
}

// toRetryError converts the error of an attempt. After a site's failure the domain's slot is closed
// until Temporal makes the next attempt. The retry policy gives its time (see FirstBackoff), or
// NextRetryDelay if the wait differs, as after a Retry-After. The error is benign: it neither logs
// nor counts as a failure. A wait longer than the policy's longest interval is no error, but a
// timer of the workflow. Internal failures are retried soon, however long the site's last wait was.
func toRetryError(ctx context.Context, err error, firstInterval settings.Duration) error {
	attempt := currentCall(ctx).Attempt
	site, isSite := errors.AsType[*siteFailure](err)
	if !isSite {
		return withRetryDelay(err, attempt)
	}
	if site.wait > politeness.BackoffMax {
		return nil
	}
	options := temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign}
	delay := FirstBackoff(firstInterval) / politeness.BackoffFactor
	if politeness.Backoff(politeness.FailureServer, int(attempt), delay, 0) != site.wait {
		options.NextRetryDelay = max(site.wait, time.Millisecond)
	}
	return temporal.NewApplicationErrorWithOptions(site.message, TypeSiteFailure, options)
}

func isSiteFailureRetry(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == TypeSiteFailure
}

const (
	// noCapacityDelay delays the retry of an activity that got no permit for its request.
	noCapacityDelay = 5 * time.Second
	// stoppingDelay delays the retry if the worker stops. It may still poll for a moment.
	stoppingDelay = time.Second
	// firstInternalFailureDelay and internalFailureDelay delay retries after our own failures, such as
	// a lost database.
	firstInternalFailureDelay, internalFailureDelay = time.Second, 15 * time.Second
)

// withRetryDelay adds the wait to an error that keeps this worker from making requests.
func withRetryDelay(err error, attempt int32) error {
	options := temporal.ApplicationErrorOptions{Category: temporal.ApplicationErrorCategoryBenign}
	outage, isOutage := errors.AsType[*network.DownError](err)
	_, isApplicationError := errors.AsType[*temporal.ApplicationError](err)
	var kind string
	switch {
	case err == nil, isApplicationError, errors.Is(err, context.Canceled):
		return err
	case isOutage:
		kind, options.NextRetryDelay = TypeNetworkDown, max(outage.RetryIn, time.Millisecond) // zero would mean "not set"
	case errors.Is(err, request.ErrStopping):
		kind, options.NextRetryDelay = TypeStopping, stoppingDelay
	case errors.Is(err, request.ErrNoPermit):
		kind, options.NextRetryDelay = TypeNoCapacity, noCapacityDelay
	default:
		kind, options.NextRetryDelay = TypeInternalFailure, internalFailureDelay
		options.Category, options.Cause = temporal.ApplicationErrorCategoryUnspecified, err
		if attempt <= 1 {
			options.NextRetryDelay = firstInternalFailureDelay
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
