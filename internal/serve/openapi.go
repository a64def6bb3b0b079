package serve

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// openAPI describes the JSON of all pages (OpenAPI 3.1), from its Go types.
func openAPI(searchOnly bool) ([]byte, error) {
	paths := make(map[string]any)
	for _, p := range pages {
		if searchOnly && !p.isPublic {
			continue
		}
		schema, err := jsonschema.ForType(reflect.TypeOf(p.viewType).Elem(), &jsonschema.ForOptions{TypeSchemas: textTypes})
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", p.name, err)
		}
		loosen(schema)
		paths["/api/"+p.api] = map[string]any{"get": map[string]any{
			"operationId": p.name, "summary": p.title, "parameters": parameters(p.api, p.params),
			"responses": map[string]any{
				"200":     responseOf("the contents of the page", schema),
				"default": responseOf("the error", problemSchema),
			},
		}}
	}
	if !searchOnly {
		paths[feedPath] = map[string]any{"get": map[string]any{
			"operationId": "feed", "summary": "Feed", "parameters": parameters("feed", feedParams),
			"responses": map[string]any{
				"200": map[string]any{"description": "JSON lines, or events", "content": map[string]any{
					"application/jsonl": map[string]any{}, "text/event-stream": map[string]any{},
				}},
				"default": responseOf("the error", problemSchema),
			},
		}}
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Mosey", "version": "1", "description": "The contents of the pages, as JSON."},
		"paths":   paths,
	}, "", "  ")
}

// textTypes are types with their own JSON form.
var textTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[settings.Duration]():            {Type: "string", Description: "a duration, such as 10s or 1h30m0s"},
	reflect.TypeFor[time.Time]():                    {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage]():              {},
	reflect.TypeFor[crawl.ImageHash]():              {Type: "string", Description: "16 hexadecimal digits"},
	reflect.TypeFor[map[reasons.Reason]int64]():     {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}},
	reflect.TypeFor[map[crawl.Outcome]int64]():      {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}},
	reflect.TypeFor[map[crawl.DomainStatus]int64](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}},
}

var problemSchema = &jsonschema.Schema{
	Type: "object", Properties: map[string]*jsonschema.Schema{"error": {Type: "string"}}, Required: []string{"error"},
}

// loosen allows unknown members, for later versions of Mosey.
func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
	loosen(s.AdditionalProperties)
}

func responseOf(text string, schema *jsonschema.Schema) map[string]any {
	return map[string]any{"description": text, "content": map[string]any{"application/json": map[string]any{"schema": schema}}}
}

var pathParams = regexp.MustCompile(`\{(\w+)\}`)

func parameters(path string, params []string) []map[string]any {
	all := []map[string]any{}
	text := map[string]any{"type": "string"}
	for _, m := range pathParams.FindAllStringSubmatch(path, -1) {
		all = append(all, map[string]any{"name": m[1], "in": "path", "required": true, "schema": text})
	}
	for q := range slices.Chunk(params, 2) {
		all = append(all, map[string]any{"name": q[0], "in": "query", "description": q[1], "schema": text})
	}
	return all
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	data, err := openAPI(s.SearchOnly)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}

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

func (s *Server) openSearch(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	base := scheme + "://" + r.Host // a host known to the guard
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
	w.Header().Set("Content-Type", "application/opensearchdescription+xml")
	_, _ = w.Write(append([]byte(xml.Header), data...))
}
