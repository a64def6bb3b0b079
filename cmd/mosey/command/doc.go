// Package command is what all commands of mosey share: the world they touch, the store and
// the stack that they open, how they read names and print.
package command
