// Package about has what a crawler publishes about itself: a page for people, and a list of its addresses for
// programs. It writes both, and reads both as others do.
package about
