// Package axe holds axe-core 4.14.1 (github.com/dequelabs/axe-core, MPL-2.0), which checks the
// accessibility of a web page.
package axe

import _ "embed" // the script

// Script defines axe in a page.
//
//go:embed axe.min.js
var Script string
