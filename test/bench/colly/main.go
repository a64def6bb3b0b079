// Command colly is a crawler made with Colly, as a baseline for Mosey: it stores one row per page
// in Postgres and follows the links within the hosts of its seeds. With -signals it also stores
// each page's language, words and links, as Mosey does. It represents an afternoon's work with
// Colly, so it loses its queue when it ends.
//
// It reads seeds from standard input, one per line, and ends when all pages are fetched.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gocolly/colly/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pemistahl/lingua-go"
)

var (
	database = flag.String("database", "", "the `URL` of a Postgres")
	server   = flag.String("dns-server", "", "ask for names at this `address`")
	delay    = flag.Duration("delay", time.Second, "between two requests to a domain")
	signals  = flag.Bool("signals", false, "keep language, words and links of each page")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdin); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader) error {
	seeds, err := readSeeds(in)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, *database, *signals)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	c, err := newCollector(seeds)
	if err != nil {
		return err
	}
	hosts := map[string]bool{}
	for _, u := range seeds {
		hosts[u.Host] = true
	}
	crawl(ctx, c, hosts, s)
	for _, u := range seeds {
		if err := c.Visit(u.String()); err != nil {
			log.Printf("visit %s: %v", u, err)
		}
	}
	c.Wait()
	log.Printf("%d pages could not be stored", s.failed.Load())
	return nil
}

func readSeeds(in io.Reader) (seeds []*url.URL, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		u, err := url.Parse(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("read the seeds: %w", err)
		}
		seeds = append(seeds, u)
	}
	return seeds, lines.Err()
}

// newCollector makes a collector with the most polite settings of Colly.
func newCollector(seeds []*url.URL) (*colly.Collector, error) {
	c := colly.NewCollector(colly.Async(true), colly.UserAgent("colly/2.3 (+https://example.org/bot)"))
	c.IgnoreRobotsTxt = false
	c.WithTransport(transport())
	for _, u := range seeds {
		// a rule is matched with host and port
		if err := c.Limit(&colly.LimitRule{DomainGlob: u.Host, Delay: *delay, Parallelism: 1}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// transport resolves names at the configured name server.
func transport() *http.Transport {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *server)
	}}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Resolver: resolver}
	return &http.Transport{DialContext: dialer.DialContext, IdleConnTimeout: 90 * time.Second}
}

const (
	pageKey  = "page"
	linksKey = "links"
)

// crawl makes a collector store each page and follow its links to some hosts. Colly's
// AllowedDomains would do so too, but checks each host for each link.
func crawl(ctx context.Context, c *colly.Collector, hosts map[string]bool, s *store) {
	c.OnHTML("html", func(e *colly.HTMLElement) {
		p := page{title: e.DOM.Find("title").First().Text()}
		if *signals {
			p.text = e.DOM.Find("body").Text()
		}
		e.Response.Ctx.Put(pageKey, p)
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		target := e.Request.AbsoluteURL(e.Attr("href"))
		if target == "" {
			return
		}
		if *signals {
			links, _ := e.Response.Ctx.GetAny(linksKey).([]link)
			e.Response.Ctx.Put(linksKey, append(links, link{to: target, anchor: strings.TrimSpace(e.Text)}))
		}
		if u, err := url.Parse(target); err == nil && hosts[u.Host] {
			_ = c.Visit(target) // fails for most: they are known, or forbidden by robots.txt
		}
	})
	c.OnScraped(func(r *colly.Response) {
		p, _ := r.Ctx.GetAny(pageKey).(page)
		p.url, p.domain, p.status, p.bytes = r.Request.URL.String(), r.Request.URL.Hostname(), r.StatusCode, len(r.Body)
		p.links, _ = r.Ctx.GetAny(linksKey).([]link)
		s.save(ctx, p)
	})
}

// page is a stored page.
type page struct {
	url, domain, title string
	status, bytes      int
	text               string // with -signals
	links              []link // with -signals
}

type link struct{ to, anchor string }

// store writes pages to Postgres.
type store struct {
	pool      *pgxpool.Pool
	languages lingua.LanguageDetector // nil without -signals
	failed    atomic.Int64
}

const schema = `
CREATE TABLE pages (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text NOT NULL UNIQUE, domain text NOT NULL, status integer NOT NULL,
	title text NOT NULL, bytes integer NOT NULL, fetched_at timestamptz NOT NULL DEFAULT now(), language text, words tsvector
);
CREATE TABLE links (from_page_id bigint NOT NULL REFERENCES pages, to_url text NOT NULL, anchor text NOT NULL);`

const signalsSchema = `
CREATE INDEX pages_words ON pages USING gin (words);
CREATE INDEX links_from ON links (from_page_id);
CREATE INDEX links_to ON links (to_url);`

func openStore(ctx context.Context, database string, signals bool) (*store, error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	s := &store{pool: pool}
	sql := schema
	if signals {
		sql += signalsSchema
		// like package internal/language/models
		s.languages = lingua.NewLanguageDetectorBuilder().
			FromAllLanguages().WithLowAccuracyMode().WithPreloadedLanguageModels().Build()
	}
	_, err = pool.Exec(ctx, sql)
	return s, err
}

const (
	pageSQL  = `INSERT INTO pages (url, domain, status, title, bytes) VALUES ($1, $2, $3, $4, $5)`
	wordsSQL = `WITH p AS (
		INSERT INTO pages (url, domain, status, title, bytes, language, words)
		VALUES ($1, $2, $3, $4, $5, $6, to_tsvector($7::regconfig, $8)) RETURNING id
	) INSERT INTO links (from_page_id, to_url, anchor) SELECT p.id, l.to_url, l.anchor FROM p, unnest($9::text[], $10::text[]) AS l (to_url, anchor)`
)

func (s *store) save(ctx context.Context, p page) {
	var err error
	if s.languages == nil {
		_, err = s.pool.Exec(ctx, pageSQL, p.url, p.domain, p.status, p.title, p.bytes)
	} else {
		code, config := s.language(p.text)
		to, anchors := make([]string, len(p.links)), make([]string, len(p.links))
		for i, l := range p.links {
			to[i], anchors[i] = l.to, l.anchor
		}
		_, err = s.pool.Exec(ctx, wordsSQL, p.url, p.domain, p.status, p.title, p.bytes, code, config, p.text, to, anchors)
	}
	if err != nil {
		s.failed.Add(1)
		log.Printf("store %s: %v", p.url, err)
	}
}

// window is the length of text used to detect its language, in bytes.
const window = 250

// stemmed maps the languages whose words Postgres stems.
var stemmed = map[lingua.Language]string{
	lingua.English: "english", lingua.German: "german", lingua.French: "french", lingua.Spanish: "spanish",
	lingua.Italian: "italian", lingua.Dutch: "dutch", lingua.Portuguese: "portuguese", lingua.Swedish: "swedish",
	lingua.Danish: "danish", lingua.Finnish: "finnish", lingua.Russian: "russian", lingua.Turkish: "turkish",
	lingua.Hungarian: "hungarian", lingua.Romanian: "romanian",
}

// language returns the language of a text, and its Postgres text search configuration.
func (s *store) language(text string) (code, config string) {
	text = strings.TrimSpace(text)
	if end := window; len(text) > end {
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	found, known := s.languages.DetectLanguageOf(text)
	if !known {
		return "und", "simple"
	}
	if config = stemmed[found]; config == "" {
		config = "simple"
	}
	return strings.ToLower(found.IsoCode639_1().String()), config
}
