// Package about writes and reads a crawler's page for people and its list of addresses.
package about
