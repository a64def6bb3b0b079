package crawl

import (
	"fmt"
	"regexp"
)

// RunNameMax is the longest name a run may have, in bytes.
const RunNameMax = 100

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidateRunName checks a run's name: letters, digits, dot, underscore and
// hyphen, starting with a letter or digit, at most RunNameMax bytes. It becomes
// part of workflow IDs and so must survive URLs and shells.
func ValidateRunName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: run: a name is needed, such as small-web", ErrInvalid)
	case len(name) > RunNameMax:
		return fmt.Errorf("%w: run %q: %d bytes long, at most %d allowed", ErrInvalid, name[:20]+"…", len(name), RunNameMax)
	case !runName.MatchString(name):
		return fmt.Errorf("%w: run %q: only letters, digits, '.', '_' and '-' are allowed, a letter or digit first", ErrInvalid, name)
	}
	return nil
}
