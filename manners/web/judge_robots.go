package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// robots judges every page by the last robots.txt of its origin that got a response before.
func (j *judge) robots() {
	robotsRequests := make(map[string]Log) // robots.txt requests by URL, in order of End
	for _, r := range j.log {
		if r.Host != "" && !r.IsPage() {
			robotsRequests[r.URL()] = append(robotsRequests[r.URL()], r)
		}
	}
	for _, log := range robotsRequests {
		slices.SortStableFunc(log, func(a, b Record) int { return cmp.Compare(a.End, b.End) })
	}
	for _, r := range j.log {
		name, target, ok := j.expect.Plan.split(r.URL())
		if !ok || !r.IsPage() {
			continue
		}
		known, answer := j.knowledge(robotsRequests, name, r.Start)
		switch known {
		case knowNothing:
			j.violatef(BreachBeforeRobots, r.Domain(), r, "robots.txt had no response")
		case knowUnavailable:
			j.violatef(BreachRobotsUnavailable, r.Domain(), r, "robots.txt is unavailable")
		case knowRules:
			h := j.expect.Plan.hosts[name]
			switch {
			case h.site.deniesAll(answer.Attempt):
				j.violatef(BreachDisallowed, r.Domain(), r, "robots.txt disallows everything now")
			case !j.expect.Plan.allowed(h, target):
				j.violatef(BreachDisallowed, r.Domain(), r, "robots.txt disallows it")
			}
		case knowAllowed:
		}
	}
}

// knowledge is a crawler's knowledge of the robots.txt of an origin.
type knowledge int

const (
	knowNothing knowledge = iota
	knowUnavailable
	knowAllowed // a status of 4xx, RFC 9309 section 2.3.1.3
	knowRules
)

// knowledge returns a crawler's knowledge at an instant from the requests that have ended, and the
// response that counts.
func (j *judge) knowledge(robotsRequests map[string]Log, name string, at time.Duration) (knowledge, Record) {
	chain := j.expect.Plan.robotsChain(name)
	if len(chain) > maxRobotsRedirects+1 {
		chain = chain[:maxRobotsRedirects+1]
	}
	var last Record
	for _, u := range chain {
		found := false
		for _, r := range robotsRequests[u] {
			if r.InFlight || r.End > at+j.expect.Tolerance {
				break
			}
			if found && (r.Status == http.StatusNotModified || unavailable(r) && !unavailable(last)) {
				continue // the earlier response holds for a day
			}
			last, found = r, true
		}
		if !found {
			return knowNothing, last
		}
		if !isRedirect(last) {
			break
		}
	}
	switch {
	case unavailable(last), isRedirect(last):
		return knowUnavailable, last
	case last.Status >= 400:
		return knowAllowed, last
	}
	return knowRules, last
}

// unavailable reports whether a response gives no rules (RFC 9309 section 2.3.1.4).
func unavailable(r Record) bool {
	// A crawler may close the connection after the part of a long file that it has to read (RFC 9309
	// section 2.5).
	isReceived := r.Answered() || (r.Status == 200 && !r.InFlight && r.Bytes >= robotsLimit)
	return !isReceived || r.Status == 429 || r.Status >= 500
}

func isRedirect(r Record) bool { return r.Answered() && r.Status >= 300 && r.Status < 400 }
