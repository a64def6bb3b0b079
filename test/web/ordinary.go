package web

import "strconv"

// Ordinary is a healthy site of so many pages besides its root, of which a few are
// broken as the web's pages are: those with the numbers given answer as broken does.
// Its robots.txt allows all.
func Ordinary(pages int, broken Behaviour, numbers ...int) Site {
	s := Site{Pages: pages, Plain: true, Paths: make(map[string]Behaviour, len(numbers))}
	for _, n := range numbers {
		s.Paths["/p/"+strconv.Itoa(n)] = broken
	}
	return s
}
