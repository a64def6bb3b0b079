// Package identity has the commands about who the crawler is: the page, the addresses and the keys that site owners
// know it by, written for a web server and checked from outside.
package identity
