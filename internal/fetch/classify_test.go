package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
		otherwise     Kind
		err           error
		want          Kind
	}{
		"OutOfFiles":           {live, live, KindConnect, system(syscall.EMFILE), KindLocal},
		"OutOfPorts":           {live, live, KindConnect, system(syscall.EADDRNOTAVAIL), KindLocal},
		"Unreachable":          {live, live, KindConnect, system(syscall.EHOSTUNREACH), KindConnect},
		"ResetWhileDialing":    {live, live, KindConnect, system(syscall.ECONNRESET), KindConnect},
		"NoAnswerToPackets":    {live, live, KindProtocol, system(syscall.ETIMEDOUT), KindTimeout},
		"ResetLater":           {live, live, KindProtocol, fmt.Errorf("read: %w", system(syscall.ECONNRESET)), KindReset},
		"EndLater":             {live, live, KindProtocol, fmt.Errorf("read: %w", io.ErrUnexpectedEOF), KindReset},
		"Nonsense":             {live, live, KindProtocol, errors.New("malformed"), KindProtocol},
		"TotalTimePassed":      {live, ended, KindProtocol, io.ErrUnexpectedEOF, KindTimeout},
		"CallerLeft":           {ended, ended, KindProtocol, io.ErrUnexpectedEOF, KindCanceled},
		"AlreadyClassified":    {ended, ended, KindProtocol, fail(KindBomb, "", nil), KindBomb},
		"ClassifiedAndWrapped": {live, live, KindTLS, fmt.Errorf("tls: %w", fail(KindDeadline, "", nil)), KindDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, classify(test.caller(), test.total(), test.otherwise, "", test.err).Kind)
		})
	}
}
