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
	// TypeSiteTrouble: the site answered with trouble; try again after the delay.
	TypeSiteTrouble = "SiteTrouble"
	// TypeNetworkDown: this machine's network seems to be down; try again after the
	// delay, here or elsewhere.
	TypeNetworkDown = "NetworkDown"
	// TypeBadInput: the input is wrong and trying again cannot help.
	TypeBadInput = "BadInput"
)

// siteTrouble asks Temporal to run the activity again after delay. It is the
// normal course of a crawl: benign, so that it neither logs as an error nor
// counts as a failure.
func siteTrouble(what string, delay time.Duration) error { return again(what, TypeSiteTrouble, delay) }

func again(what, errorType string, delay time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(what, errorType, temporal.ApplicationErrorOptions{
		// zero would mean "not set"
		NextRetryDelay: max(delay, time.Millisecond),
		Category:       temporal.ApplicationErrorCategoryBenign,
	})
}

// orNetworkDown makes an outage of this machine's network an error that carries the
// wait, and leaves other errors as they are.
func orNetworkDown(err error) error {
	down, ok := errors.AsType[*network.Down](err)
	if !ok {
		return err
	}
	return again(down.Error(), TypeNetworkDown, down.RetryIn)
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
