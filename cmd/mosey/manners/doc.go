// Package manners has the commands that judge crawlers, of whatever kind: they serve the
// suite's web, run a crawler against it, and judge its log. They need neither a database
// nor Temporal nor the data directory.
package manners
