// Package show has the commands that print what is recorded and change nothing.
package show
