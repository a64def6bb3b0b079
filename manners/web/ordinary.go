package web

import "strconv"

// Ordinary is a healthy site of so many pages besides its root, with a few broken
// ones, as on the real web: the pages with the given numbers answer as broken does.
// Its robots.txt allows all.
func Ordinary(pages int, broken Behaviour, numbers ...int) Site {
	s := Site{Pages: pages, Plain: true, Paths: make(map[string]Behaviour, len(numbers))}
	for _, n := range numbers {
		s.Paths["/p/"+strconv.Itoa(n)] = broken
	}
	return s
}
