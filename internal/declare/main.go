// Command declare writes the files that are made from tables in Go. It is run in the root of
// the module. With the argument "check" it writes nothing and fails if a file is not what its
// table says.
package main

import (
	"fmt"
	"os"

	"github.com/mosey-web/mosey/crawl/kinds"
)

// files are the files that are made.
var files = []struct {
	path string
	text func() string
}{
	{"db/functions/kinds.sql", kinds.SQL},
}

func main() {
	check := len(os.Args) > 1 && os.Args[1] == "check"
	for _, f := range files {
		if err := declare(f.path, f.text(), check); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func declare(path, text string, check bool) error {
	if !check {
		return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // it is read by all, as other sources are
	}
	now, err := os.ReadFile(path)
	if err == nil && string(now) != text {
		err = fmt.Errorf("%s is not what its table in Go says: run go tool task generate", path)
	}
	return err
}
