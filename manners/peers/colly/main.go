// Command crawl follows links within the hosts of its seeds with Colly, one request a second each.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	seeds := flag.String("seeds", "", "file of URLs, one a line")
	agent := flag.String("agent", "", "User-Agent")
	robots := flag.Bool("robots", false, "obey robots.txt, which Colly ignores by default")
	flag.Parse()
	if err := crawl(*seeds, *agent, *robots); err != nil {
		log.Fatal(err)
	}
}

func crawl(seeds, agent string, robots bool) error {
	text, err := os.ReadFile(seeds)
	if err != nil {
		return fmt.Errorf("read the seeds: %w", err)
	}
	urls := strings.Fields(string(text))
	c := colly.NewCollector(colly.UserAgent(agent), colly.Async(true))
	if robots {
		c.IgnoreRobotsTxt = false
	}
	limited := map[string]bool{}
	for _, s := range urls {
		u, err := url.Parse(s)
		if err != nil {
			return fmt.Errorf("seed %q: %w", s, err)
		}
		if limited[u.Host] {
			continue
		}
		limited[u.Host] = true
		c.AllowedDomains = append(c.AllowedDomains, u.Hostname())
		// A rule limits all hosts that it matches together, so each host has its own rule.
		if err := c.Limit(&colly.LimitRule{DomainGlob: u.Host, Parallelism: 1, Delay: time.Second}); err != nil {
			return fmt.Errorf("limit %s: %w", u.Host, err)
		}
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { visit(e.Request.Visit, e.Attr("href")) })
	c.OnError(func(r *colly.Response, err error) { log.Printf("%s: %v", r.Request.URL, err) })
	for _, s := range urls {
		visit(c.Visit, s)
	}
	c.Wait()
	return nil
}

// visit logs why a URL is not fetched, except for a second visit or a link to another host.
func visit(do func(string) error, u string) {
	var again *colly.AlreadyVisitedError
	if err := do(u); err != nil && !errors.As(err, &again) && !errors.Is(err, colly.ErrForbiddenDomain) {
		log.Printf("%s: %v", u, err)
	}
}
