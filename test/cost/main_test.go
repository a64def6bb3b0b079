package cost_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain is also the process that serves the web: see webProcess.
func TestMain(m *testing.M) {
	if os.Getenv(webDomains) == "" {
		os.Exit(m.Run())
	}
	if err := serveWeb(); err != nil {
		fmt.Fprintln(os.Stderr, "serve the web:", err)
		os.Exit(1)
	}
}
