package model_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/test/model"
)

// sites is the scripted web of one sequence: the links of its pages, and the current response of
// each domain. It replaces the network.
type sites struct {
	domains []string
	links   map[string][]model.Found
	// answers and robots hold the current responses of each domain.
	answers, robots map[string]string
	// dies is set if the worker will die in the next request for a page.
	dies bool
	// now is the current request. The store sets it when it grants the lease.
	now *asking
}

// asking is a request that has a lease.
type asking struct {
	run, domain, url string
	prerequisite     bool
	penalty          model.Instant
}

// died is the panic value of a killed worker.
type died struct{}

// pageNames are the pages of each domain.
var pageNames = []string{"", "a", "b", "c", "e"}

func newSites(domains []string) *sites {
	s := &sites{
		domains: domains, links: map[string][]model.Found{}, answers: map[string]string{}, robots: map[string]string{},
	}
	for _, d := range domains {
		s.name(d, "", d, "a")
		s.name(d, "", d, "b")
		s.name(d, "a", s.after(d), "")
		s.name(d, "b", s.after(d), "i.png")
		s.name(d, "b", d, "c")
	}
	s.links[pageOf(domains[0], "c")] = []model.Found{s.found(domains[0], "e", true)}
	return s
}

// draw replaces what the pages name by something random.
func (s *sites) draw(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	s.links = map[string][]model.Found{}
	for _, d := range s.domains {
		for _, from := range pageNames {
			for range r.IntN(4) {
				to := s.domains[r.IntN(len(s.domains))]
				if r.IntN(2) == 0 {
					to = d
				}
				name := pageNames[r.IntN(len(pageNames))]
				if r.IntN(4) == 0 {
					name = fmt.Sprintf("i%d.png", r.IntN(2))
				}
				s.name(d, from, to, name)
			}
		}
		if r.IntN(3) == 0 {
			s.links[pageOf(d, "e")] = []model.Found{s.found(s.domains[r.IntN(len(s.domains))], pageNames[r.IntN(4)], true)}
		}
	}
}

// after is the next domain, in a circle.
func (s *sites) after(domain string) string {
	for i, d := range s.domains {
		if d == domain {
			return s.domains[(i+1)%len(s.domains)]
		}
	}
	return domain
}

func (s *sites) name(domain, from, to, page string) {
	if url := pageOf(domain, from); url != pageOf(to, page) {
		s.links[url] = append(s.links[url], s.found(to, page, false))
	}
}

func (s *sites) found(domain, page string, moved bool) model.Found {
	return model.Found{URL: pageOf(domain, page), Domain: domain, Image: strings.HasSuffix(page, ".png"), Moved: moved}
}

func pageOf(domain, name string) string { return "http://" + domain + "/" + name }

func byHTTPS(url string) string { return strings.Replace(url, "http:", "https:", 1) }

func isImage(url string) bool { return strings.HasSuffix(url, ".png") }

// mode is how a domain answers, and how long it asks to be left alone.
func (s *sites) mode(a asking) (mode string, after time.Duration) {
	table := s.answers
	if a.prerequisite {
		table = s.robots
	}
	mode, wait, hinted := strings.Cut(table[a.domain], "+")
	if hinted {
		after, _ = time.ParseDuration(wait)
	}
	if mode == "https-reset" {
		if mode = ""; strings.HasPrefix(a.url, "https:") {
			mode = "reset"
		}
	}
	if mode == "to-https" && (a.prerequisite || strings.HasPrefix(a.url, "https:")) {
		mode = ""
	}
	if name := s.answers[a.domain]; name == "nohost" || name == "dnsfail" {
		return name, 0
	}
	return mode, after
}

// Lookup finds the address of a scripted host.
func (s *sites) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	switch s.answers[host] {
	case "nohost":
		return nil, &dns.Error{Host: host, Err: dns.ErrNotFound}
	case "dnsfail":
		return nil, &dns.Error{Host: host, Temporary: true, Err: dns.ErrTemporary}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(host))
	n := h.Sum32()
	return []netip.Addr{netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)})}, nil
}

// Permits lets every address be asked.
func (s *sites) Permits(netip.Addr) error { return nil }

// reply is how the request that has the lease ends, for the model.
func (s *sites) reply() model.Reply {
	a := *s.now
	mode, after := s.mode(a)
	switch mode {
	case "", "304", "robots404":
		return model.Reply{Class: model.Final, Good: true, Found: s.links[a.url]}
	case "to-https":
		return model.Reply{Class: model.Final, Good: true, Found: []model.Found{{URL: byHTTPS(a.url), Domain: a.domain, Moved: true}}}
	case "shut":
		return model.Reply{Class: model.Final, Good: true, Shut: true}
	case "404", "403":
		return model.Reply{Class: model.Final, Good: a.prerequisite}
	case "local":
		return model.Reply{Class: model.Undone, Penalty: a.penalty}
	case "nohost", "dnsfail":
		return model.Reply{Class: model.Transient, Unreached: true}
	}
	return model.Reply{Class: model.Transient, After: model.Instant(after.Microseconds())}
}

// Do answers a request that has the lease.
func (s *sites) Do(_ context.Context, r fetch.Request) (*fetch.Response, error) {
	a := *s.now
	if s.dies && !a.prerequisite {
		s.dies = false
		panic(died{})
	}
	mode, after := s.mode(a)
	answer := &fetch.Response{
		EndedAt: time.Now(), Header: http.Header{}, Status: http.StatusOK, Total: time.Millisecond, WireBytes: 1000,
	}
	if after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	fail := func(kind fetch.Cause) (*fetch.Response, error) {
		return nil, &fetch.Error{EndedAt: time.Now(), Cause: kind, Msg: "as scripted", Sent: true, Connected: true}
	}
	switch mode {
	case "timeout":
		return fail(fetch.CauseTimeout)
	case "reset":
		return fail(fetch.CauseReset)
	case "local":
		return fail(fetch.CauseLocal)
	case "to-https":
		answer.Status = http.StatusMovedPermanently
		answer.Header.Set("Location", byHTTPS(a.url))
	case "shut":
		from := time.Now().UTC().Add(12 * time.Hour)
		answer.MediaType, answer.Body = "text/plain", fmt.Appendf(nil, "User-agent: *\nVisit-time: %02d00-%02d30\n", from.Hour(), from.Hour())
	case "":
		s.page(a, answer)
	case "304":
		answer.Header.Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			answer.Status = http.StatusNotModified
			return answer, nil
		}
		s.page(a, answer)
	default:
		_, _ = fmt.Sscan(mode, &answer.Status)
	}
	return answer, nil
}

// page fills in the response for a page or an image.
func (s *sites) page(a asking, answer *fetch.Response) {
	switch {
	case a.prerequisite:
		answer.Status = http.StatusNotFound
		return
	case isImage(a.url):
		answer.MediaType, answer.Body = "image/png", picture(a.url)
	case len(s.links[a.url]) == 1 && s.links[a.url][0].Moved:
		answer.Status = http.StatusMovedPermanently
		answer.Header.Set("Location", s.links[a.url][0].URL)
		return
	default:
		answer.MediaType, answer.Body = "text/html", s.html(a.url)
	}
	answer.ContentType, answer.ContentLength = answer.MediaType, int64(len(answer.Body))
	answer.Header.Set("Content-Type", answer.MediaType)
}

func (s *sites) html(url string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html><title>%s</title><p>This is %s and no other page.", url, url)
	for _, f := range s.links[url] {
		if f.Image {
			fmt.Fprintf(&b, `<img src="%s" alt="x">`, f.URL)
		} else {
			fmt.Fprintf(&b, `<a href="%s">y</a>`, f.URL)
		}
	}
	return b.Bytes()
}

var pictures sync.Map

// picture is an image that no other URL has.
func picture(url string) []byte {
	if data, ok := pictures.Load(url); ok {
		return data.([]byte)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(url))
	n := h.Sum64()
	img := image.NewGray(image.Rect(0, 0, 120, 120))
	for i := range 64 {
		img.SetGray(i, i, color.Gray{Y: byte(n >> (i % 56))})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	pictures.Store(url, b.Bytes())
	return b.Bytes()
}
