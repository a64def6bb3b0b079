// Package identity has the commands about the keys that requests are signed with.
package identity
