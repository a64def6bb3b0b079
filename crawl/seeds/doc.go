// Package seeds has what a crawl begins with.
package seeds
