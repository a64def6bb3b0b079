package programs_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/programs"
)

// A written program runs also while other goroutines start processes.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	for i := range 200 {
		program := filepath.Join(dir, strconv.Itoa(i))
		programs.Write(t, program, []byte("#!/bin/sh\n"))
		out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	close(stop)
	others.Wait()
}
