package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/search"
)

// SearchView is the result of a search.
type SearchView struct {
	head
	search.Answer

	Text   string `json:"query"`
	Lang   string `json:"lang,omitempty"`
	Domain string `json:"domain,omitempty"`
	Offset int    `json:"offset,omitempty"`
	Next   int    `json:"next,omitempty"`
}

func (s *Server) search(r *http.Request) (view, error) {
	v := &SearchView{
		head: head{Now: s.Now(), name: r.FormValue("q")},
		Text: r.FormValue("q"), Lang: r.FormValue("lang"), Domain: r.FormValue("domain"),
	}
	if v.Text == "" {
		v.Sentence = "Search the crawled pages."
		return v, nil
	}
	if text := r.FormValue("offset"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > search.OffsetMax {
			return nil, fmt.Errorf("%w: offset %q: want 0 to %d", errBadRequest, text, search.OffsetMax)
		}
		v.Offset = n
	}
	began := time.Now()
	answer, err := s.searcher.Find(r.Context(), search.Query{Text: v.Text, Language: v.Lang, Domain: v.Domain, Offset: v.Offset})
	if err != nil {
		return v, err
	}
	v.Answer = answer
	took := time.Since(began).Round(time.Millisecond)
	switch n := len(answer.Results); {
	case n == 0 && v.Offset == 0:
		v.Sentence = fmt.Sprintf("No results for %s.", explain.OneLine(v.Text))
	case n == 0:
		v.Sentence = "No more results."
	default:
		end := v.Offset + n
		all := number(int64(end)) // similar pages, and others of the same domain, are not shown
		if n == search.LimitDefault {
			all = "about " + number(int64(max(v.Found, end)))
			if end <= search.OffsetMax {
				v.Next = end
			}
		}
		v.Sentence = fmt.Sprintf("Results %d to %d of %s, in %s.", v.Offset+1, end, all, took)
	}
	return v, nil
}

// Address returns the address of the same search with other filters, from an offset on.
func (v *SearchView) Address(lang, domain string, offset int) string {
	q := url.Values{"q": {v.Text}}
	for name, value := range map[string]string{"lang": lang, "domain": domain} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return "/search?" + q.Encode()
}
