package serve

import (
	"encoding/xml"
	"net/http"
)

// openSearch describes the search to browsers (OpenSearch 1.1, github.com/dewitt/opensearch).
type openSearch struct {
	XMLName     xml.Name        `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string          `xml:"ShortName"`
	Description string          `xml:"Description"`
	Encoding    string          `xml:"InputEncoding"`
	URLs        []openSearchURL `xml:"Url"`
}

type openSearchURL struct {
	Type     string `xml:"type,attr"`
	Template string `xml:"template,attr"`
}

// openSearchType is what a link to the description says it is.
const openSearchType = "application/opensearchdescription+xml"

func (s *Server) openSearch(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	base := scheme + "://" + r.Host // which the guard knows
	data, err := xml.MarshalIndent(openSearch{
		ShortName: "Mosey", Description: "Pages that Mosey has crawled", Encoding: "UTF-8",
		URLs: []openSearchURL{
			{"text/html", base + "/search?q={searchTerms}"},
			{"application/json", base + "/api/search?q={searchTerms}"},
		},
	}, "", "  ")
	if err != nil {
		s.problem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", openSearchType)
	_, _ = w.Write(append([]byte(xml.Header), data...))
}
