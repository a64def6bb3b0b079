package request

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/traces"
)

const (
	maxTracedURLBytes = 2000
	// outcomeUndone is the traced outcome of an attempt that failed through no fault of the site.
	outcomeUndone = "undone"
)

// trace adds a request, or the attempt to resolve its host. The attempt is now traced.
func (c *Client) trace(ctx context.Context, tr *traces.Attempt, req Request, x *Exchange) {
	if tr == nil {
		return
	}
	tr.Requested()
	at := &x.Attempt
	url := []attribute.KeyValue{
		semconv.HTTPRequestMethodGet, semconv.URLFull(urls.Shorten(at.URL, maxTracedURLBytes)),
		semconv.ServerAddress(req.URL.Host()), semconv.ServerPort(int(req.URL.Port())),
	}
	if at.IP != "" {
		url = append(url, semconv.NetworkPeerAddress(at.IP))
	}
	if at.StatusCode != 0 {
		url = append(url, semconv.HTTPResponseStatusCode(at.StatusCode))
	}
	tr.Set(url...)
	tr.Set(
		attribute.String("mosey.domain", at.Domain), attribute.String("mosey.run", at.Run),
		attribute.String("mosey.kind", string(at.Kind)), attribute.Int64("mosey.attempt_id", at.ID),
	)
	if c.TraceOf != nil {
		tr.Set(c.TraceOf(ctx)...)
	}
	f, failed := errors.AsType[*fetch.Error](x.Err)
	if x.Response == nil && !failed {
		tr.Set(semconv.ErrorTypeKey.String("dns"))
		return // there was no address to request
	}
	get := traces.Part{Name: "GET", Client: true, Ended: at.EndedAt, Failure: failure(at), Attrs: url}
	if r := x.Response; r != nil {
		get.Began = at.EndedAt.Add(-r.Total)
		get.Parts = parts(get, r.Connect, r.FirstByte)
		get.Attrs = append(get.Attrs, semconv.HTTPResponseSize(int(at.Bytes)))
	} else {
		get.Began = at.EndedAt.Add(-f.Total)
		get.Parts = parts(get, f.Connect, f.FirstByte)
	}
	if get.Failure != "" {
		kind := semconv.ErrorTypeKey.String(errorType(at, f))
		get.Attrs = append(get.Attrs, kind)
		tr.Set(kind)
	}
	tr.Add(get)
}

// parts returns the phases that a request reached. The last one has the failure.
func parts(get traces.Part, connect, firstByte time.Duration) []traces.Part {
	connected, answered := get.Began.Add(connect), get.Began.Add(firstByte)
	all := []traces.Part{
		{Name: "connect", Began: get.Began, Ended: connected},
		{Name: "first_byte", Began: connected, Ended: answered},
		{Name: "body", Began: answered},
	}
	switch {
	case connect == 0:
		all = all[:1]
	case firstByte == 0:
		all = all[:2]
	}
	last := &all[len(all)-1]
	last.Ended, last.Failure = get.Ended, get.Failure
	return all
}

// failure returns why an attempt failed, else "". A missing or forbidden page is no failure.
func failure(at *crawl.Attempt) string {
	switch {
	case at.Outcome == crawl.OutcomeFailed, at.Outcome == crawl.OutcomeTimeout:
		return at.Error
	case Overloaded(at.StatusCode):
		return "HTTP status " + strconv.Itoa(at.StatusCode)
	}
	return ""
}

// errorType names the class of a failure. The few values suit metrics.
func errorType(at *crawl.Attempt, f *fetch.Error) string {
	switch {
	case f != nil:
		return string(f.Cause)
	case at.StatusCode != 0:
		return strconv.Itoa(at.StatusCode)
	}
	return "_OTHER" // required by the conventions: a status unknown to HTTP
}

func endTrace(tr *traces.Attempt, res Result, err error) {
	if tr == nil {
		return
	}
	failed := ""
	if x := res.Exchange; x != nil {
		at := &x.Attempt
		failed = failure(at)
		tr.Set(
			attribute.String("mosey.outcome", string(at.Outcome)), attribute.String("mosey.reason", string(at.Reason)),
			attribute.Int64("mosey.wait_ms", time.Duration(at.Delay).Milliseconds()),
		)
	} else {
		tr.Set(attribute.String("mosey.outcome", outcomeUndone))
	}
	if err != nil {
		failed = err.Error()
	}
	tr.End(failed)
}
