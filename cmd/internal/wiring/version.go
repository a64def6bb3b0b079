package wiring

import (
	"runtime/debug"
	"strings"
)

// release is the version of a release build, which sets it:
// -ldflags "-X github.com/mosey-web/mosey/cmd/internal/wiring.release=1.2.3".
var release = ""

// next is the release that this code is on its way to.
const next = "0.1.0-dev"

// Version is the version of this program, as it stands in its User-Agent: that of the
// release, else of the module where Go knows it, else of the next release.
func Version() string {
	version := release
	if info, ok := debug.ReadBuildInfo(); version == "" && ok && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	if version == "" {
		version = next
	}
	return strings.TrimPrefix(version, "v")
}
