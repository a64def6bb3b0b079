// Package move is the command that takes a crawl from a data directory to a cluster, or back:
// its rows, its images, and what Temporal alone knows.
package move
