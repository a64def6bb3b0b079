// Package registration asks a service for the registration of domains: RDAP, RFC 9082 and RFC 9083.
package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	timeout  = 20 * time.Second
	maxBytes = 1 << 20
)

// Service is an RDAP service that an operator chose, such as https://rdap.org.
type Service struct {
	// URL is the address before "/domain/NAME".
	URL string
	// UserAgent identifies the crawler.
	UserAgent string
	// Dial connects to a host, which may be the target of a redirect.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate checks the URL of a service.
func Validate(service string) error {
	u, err := url.Parse(service)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("%q: want the address of an RDAP service, such as https://rdap.org", service)
	}
	return nil
}

// RegisteredAt returns the time of a domain's registration, which a later renewal does not change.
func (s Service) RegisteredAt(ctx context.Context, domain string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address, err := url.JoinPath(s.URL, "domain", domain)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the registration of %s: %w", domain, err)
	}
	at, err := s.request(ctx, address)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask %s: %w", address, err)
	}
	return at, nil
}

func (s Service) request(ctx context.Context, address string) (at time.Time, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return at, err
	}
	r.Header.Set("Accept", "application/rdap+json")
	r.Header.Set("User-Agent", s.UserAgent)
	transport := &http.Transport{DialContext: s.Dial, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return at, fmt.Errorf("status %d", response.StatusCode)
	}
	var domain struct {
		Events []struct {
			Action string    `json:"eventAction"` //nolint:tagliatelle // RFC 9083, section 4.5
			Date   time.Time `json:"eventDate"`   //nolint:tagliatelle // the same
		} `json:"events"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBytes)).Decode(&domain); err != nil {
		return at, err
	}
	for _, e := range domain.Events {
		if e.Action == "registration" {
			return e.Date, nil
		}
	}
	return at, errors.New("the response has no event of registration")
}
