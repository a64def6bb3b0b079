package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Cause is the class of a failure. Its values are stored and shown, and so never change. It is an
// error only so that it can be the target of errors.Is.
type Cause string

const (
	// CauseBomb: the body decompresses by more than maxRatio.
	CauseBomb Cause = "bomb"

	// CauseCanceled: the caller's context ended before the request did.
	CauseCanceled Cause = "canceled"

	// CauseConnect: the connection was refused or reset, or the address is unreachable.
	CauseConnect Cause = "connect"

	// CauseDeadline: Request.Deadline passed before the request was sent.
	CauseDeadline Cause = "deadline"

	// CauseDecode: the body is not in its content coding, or the coding was not offered.
	CauseDecode Cause = "decode"

	// CauseDNS: the host has no address. Do never returns it; it is for callers that resolve.
	CauseDNS Cause = "dns"

	// CauseFamily: this machine reaches only the other family, IPv4 or IPv6. Nothing was sent.
	CauseFamily Cause = "family"

	// CauseForbiddenAddr: the address is not public, or the port is no web port.
	CauseForbiddenAddr Cause = "forbidden_addr"

	// CauseInvalid: the Request itself is wrong. Nothing was sent.
	CauseInvalid Cause = "invalid"

	// CauseLocal: this machine ran out of files, ports or memory, or has no network or signing key.
	CauseLocal Cause = "local"

	// CauseProtocol: the response is not HTTP/1.x, or its header is too large.
	CauseProtocol Cause = "protocol"

	// CauseReset: the connection broke before the response was complete.
	CauseReset Cause = "reset"

	// CauseTimeout: a limit of Config passed: connect, first byte or total.
	CauseTimeout Cause = "timeout"

	// CauseTLS: the certificate is bad, there is no common version, or the port has no TLS at all.
	CauseTLS Cause = "tls"
)

func (k Cause) Error() string { return string(k) }

// maxErrorLength bounds Error.Error in bytes, because the text may quote the site.
const maxErrorLength = 512

// Error is a request without a complete response.
type Error struct {
	// EndedAt is the end of the connection or the request. It holds a monotonic reading.
	EndedAt time.Time

	// Err is the cause. May be nil.
	Err error

	Cause Cause

	Msg string

	// Sent is set from the first attempt to connect on: the site may have noticed.
	Sent bool

	Connected bool

	// Connect, FirstByte and Total are as in a Response; zero if they were not reached.
	Connect, FirstByte, Total time.Duration

	// Status is the HTTP status, if one arrived before the failure; else 0.
	Status int
}

// Error returns cause, message and Err in at most 512 bytes, safe to store and show.
func (e *Error) Error() string {
	text := "fetch: " + string(e.Cause) + ": " + e.Msg
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return crawl.CleanText(text, maxErrorLength)
}

// Brief returns the cause and, if the system returned an error number, its short text.
func (e *Error) Brief() string {
	if no, ok := errors.AsType[syscall.Errno](e.Err); ok {
		return string(e.Cause) + ": " + no.Error()
	}
	return string(e.Cause)
}

// Is reports whether target is the error's Cause.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Cause)
	return ok && kind == e.Cause
}

func (e *Error) Unwrap() error { return e.Err }

// Unreached reports whether, to this machine's knowledge, no packet came back from the site. The
// site or the network between may be at fault.
func (e *Error) Unreached() bool {
	return e.Cause == CauseFamily || e.Sent && !e.Connected && (e.Cause == CauseConnect || e.Cause == CauseTimeout) &&
		!errors.Is(e.Err, syscall.ECONNREFUSED)
}

// Refused reports whether the connection was refused: nothing listens on the port.
func (e *Error) Refused() bool {
	return e.Cause == CauseConnect && errors.Is(e.Err, syscall.ECONNREFUSED)
}

// NoTLS reports whether the port permanently has no TLS for us: another protocol, a refusal of our
// TLS, or an untrusted certificate. It excludes a broken handshake.
func (e *Error) NoTLS() bool {
	op, ok := errors.AsType[*net.OpError](e.Err)
	alert := ok && op.Op == "remote error" // as package crypto/tls marks a server's refusal
	return e.Cause == CauseTLS && (alert || !isHangup(e.Err))
}

func fail(kind Cause, msg string, err error) *Error {
	return &Error{Cause: kind, Msg: msg, Err: err}
}

// classify converts err to an *Error. total limited the exchange and derives from caller.
func classify(caller, total context.Context, fallback Cause, msg string, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if caller.Err() != nil {
		return fail(CauseCanceled, "canceled by the caller", context.Cause(caller))
	}
	if total.Err() != nil {
		return fail(CauseTimeout, "the response was not complete in time", err)
	}
	isLocal := slices.ContainsFunc([]error{
		syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENETDOWN, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	}, func(localErr error) bool { return errors.Is(err, localErr) })
	if isLocal { // this machine, not the site, is at fault
		return fail(CauseLocal, msg, err)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fail(CauseTimeout, msg, err)
	}
	if fallback == CauseProtocol && isHangup(err) {
		return fail(CauseReset, msg, err)
	}
	return fail(fallback, msg, err)
}

// isOtherFamilyOnly reports whether this machine only has a route to the other family than addr's.
// Without any route its whole network may be down, or it may be out of ports.
func isOtherFamilyOnly(
	ctx context.Context, err error, addr netip.Addr, routes func(context.Context) (four, six bool),
) bool {
	if !errors.Is(err, syscall.EADDRNOTAVAIL) && !errors.Is(err, syscall.EAFNOSUPPORT) && !errors.Is(err, syscall.ENETUNREACH) {
		return false
	}
	four, six := routes(ctx)
	if familyOf(addr) == "IPv4" {
		return !four && six
	}
	return !six && four
}

func familyOf(addr netip.Addr) string {
	if addr.Unmap().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// Routes reports whether this machine has a route to IPv4 and to IPv6 addresses. It sends nothing.
func Routes(ctx context.Context) (four, six bool) {
	return hasRoute(ctx, "udp4", "192.0.2.1:9"), hasRoute(ctx, "udp6", "[2001:db8::1]:9")
}

// hasRoute reports whether a route exists. Connecting a UDP socket sends nothing.
func hasRoute(ctx context.Context, network, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent on it
	return true
}

// isHangup reports whether the connection broke, as opposed to carrying invalid data.
func isHangup(err error) bool {
	_, broke := errors.AsType[*net.OpError](err)
	return broke || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
