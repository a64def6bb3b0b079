// Package notify listens to owners of sites who tell what is new: IndexNow pings (indexnow.org,
// "Documentation"), and requests to crawl pages again. It is meant for the public, and says nothing
// of what is stored, but to those who hold a key that was verified.
//
// It makes no request. It stores what is told, and has a row for the file that proves it. A worker
// asks for that file in its turn. A ping changes the order in which pages are asked for. It never
// shortens a wait.
package notify
