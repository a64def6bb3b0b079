package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Failures that a test cannot cause at will are judged by their errors alone.
func TestClassify(t *testing.T) {
	t.Parallel()
	live := t.Context
	ended := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	system := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}

	for name, test := range map[string]struct {
		caller, total func() context.Context
		otherwise     Cause
		err           error
		want          Cause
	}{
		"OutOfFiles":           {live, live, CauseConnect, system(syscall.EMFILE), CauseLocal},
		"OutOfPorts":           {live, live, CauseConnect, system(syscall.EADDRNOTAVAIL), CauseLocal},
		"Unreachable":          {live, live, CauseConnect, system(syscall.EHOSTUNREACH), CauseConnect},
		"ResetWhileDialing":    {live, live, CauseConnect, system(syscall.ECONNRESET), CauseConnect},
		"NoAnswerToPackets":    {live, live, CauseProtocol, system(syscall.ETIMEDOUT), CauseTimeout},
		"ResetLater":           {live, live, CauseProtocol, fmt.Errorf("read: %w", system(syscall.ECONNRESET)), CauseReset},
		"EndLater":             {live, live, CauseProtocol, fmt.Errorf("read: %w", io.ErrUnexpectedEOF), CauseReset},
		"Nonsense":             {live, live, CauseProtocol, errors.New("malformed"), CauseProtocol},
		"TotalTimePassed":      {live, ended, CauseProtocol, io.ErrUnexpectedEOF, CauseTimeout},
		"CallerLeft":           {ended, ended, CauseProtocol, io.ErrUnexpectedEOF, CauseCanceled},
		"AlreadyClassified":    {ended, ended, CauseProtocol, fail(CauseBomb, "", nil), CauseBomb},
		"ClassifiedAndWrapped": {live, live, CauseTLS, fmt.Errorf("tls: %w", fail(CauseDeadline, "", nil)), CauseDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, classify(test.caller(), test.total(), test.otherwise, "", test.err).Cause)
		})
	}
}

// A machine without IPv6, as many are, is no failure of ours that passes; one without any
// network is.
func TestFamilyAway(t *testing.T) {
	t.Parallel()
	four, six := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
	for name, test := range map[string]struct {
		errno syscall.Errno
		addr  netip.Addr
		ways  string
		want  bool
	}{
		"IPv6IsDisabled":           {syscall.EADDRNOTAVAIL, six, "udp4", true},
		"IPv6IsNotBuiltIn":         {syscall.EAFNOSUPPORT, six, "udp4", true},
		"IPv6HasNoRoute":           {syscall.ENETUNREACH, six, "udp4", true},
		"IPv4HasNoRoute":           {syscall.ENETUNREACH, four, "udp6", true},
		"NothingHasARoute":         {syscall.ENETUNREACH, four, "", false},
		"NothingHasARouteNorIPv6":  {syscall.EADDRNOTAVAIL, six, "", false},
		"OutOfPortsOfIPv4":         {syscall.EADDRNOTAVAIL, four, "udp4", false},
		"OutOfPortsOfIPv6":         {syscall.EADDRNOTAVAIL, six, "udp4 udp6", false},
		"OutOfPortsOfIPv4Mapped":   {syscall.EADDRNOTAVAIL, netip.MustParseAddr("::ffff:203.0.113.7"), "udp4", false},
		"TheHostIsUnreachable":     {syscall.EHOSTUNREACH, six, "udp4", false},
		"TheHostRefusesConnection": {syscall.ECONNREFUSED, six, "udp4", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", test.errno)}
			ways := func(context.Context) (four, six bool) {
				return strings.Contains(test.ways, "udp4"), strings.Contains(test.ways, "udp6")
			}
			require.Equal(t, test.want, isOtherFamilyOnly(t.Context(), err, test.addr, ways))
		})
	}
}
