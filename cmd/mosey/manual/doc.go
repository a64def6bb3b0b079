// Package manual makes, from the declarations of the command line, what other programs need
// of it: words that a shell completes, and a page for man.
package manual
