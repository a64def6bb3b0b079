package web

import "strconv"

// Ordinary returns a healthy site with this many pages besides its root. The pages with the given
// numbers respond by behaviour, as on the real web. Its robots.txt allows all.
func Ordinary(pages int, behaviour Behaviour, numbers ...int) Site {
	s := Site{Pages: pages, Plain: true, Paths: make(map[string]Behaviour, len(numbers))}
	for _, n := range numbers {
		s.Paths["/p/"+strconv.Itoa(n)] = behaviour
	}
	return s
}
