package web

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// retryOf asserts a Retry-After that asks for nothing.
func retryOf(name string, want int, text string) func(hostileBundle) {
	return func(b hostileBundle) {
		status, header, wait := b.retry(name)
		require.Equal(b.t, want, status)
		require.Equal(b.t, text, header)
		require.Zero(b.t, wait)
	}
}

func retryCases() map[string]func(hostileBundle) {
	return map[string]func(hostileBundle){
		"retry-429-date": func(b hostileBundle) {
			status, _, wait := b.retry("retry-429-date")
			require.Equal(b.t, 429, status)
			require.Greater(b.t, wait, time.Second) // the date is in whole seconds
			require.LessOrEqual(b.t, wait, 3*time.Second)
			require.Equal(b.t, 200, b.get("retry-429-date").status)
		},
		"retry-503-date": func(b hostileBundle) {
			_, header, wait := b.retry("retry-503-date")
			date, err := http.ParseTime(header)
			require.NoError(b.t, err)
			rec := b.ended("retry-503-date")
			require.WithinDuration(b.t, date, rec.Time.Add(rec.End-rec.Start+wait), time.Millisecond)
			require.Equal(b.t, 503, b.get("retry-503-date").status)
			require.Equal(b.t, 200, b.get("retry-503-date").status)
		},
		"retry-429-seconds": func(b hostileBundle) {
			_, header, wait := b.retry("retry-429-seconds")
			require.Equal(b.t, "2", header)
			require.Equal(b.t, 2*time.Second, wait)
		},
		"retry-503-seconds": func(b hostileBundle) {
			_, _, wait := b.retry("retry-503-seconds")
			require.Equal(b.t, 2*time.Second, wait)
			require.Equal(b.t, 503, b.get("retry-503-seconds").status)
			require.Equal(b.t, 200, b.get("retry-503-seconds").status)
		},
		"retry-503-far": func(b hostileBundle) {
			_, _, wait := b.retry("retry-503-far")
			require.InDelta(b.t, 48*time.Hour, wait, float64(10*time.Second))
			require.Equal(b.t, 503, b.get("retry-503-far").status)
		},
		"retry-503-huge": func(b hostileBundle) {
			_, header, wait := b.retry("retry-503-huge")
			require.Equal(b.t, "99999999999999999999", header)
			require.Equal(b.t, maxRetryAfter, wait)
		},
		"retry-503-long": func(b hostileBundle) {
			_, _, wait := b.retry("retry-503-long")
			require.Equal(b.t, 2*time.Hour, wait)
			require.Equal(b.t, 503, b.get("retry-503-long").status)
		},
		"retry-503-past": func(b hostileBundle) {
			_, header, wait := b.retry("retry-503-past")
			date, err := http.ParseTime(header)
			require.NoError(b.t, err)
			require.Less(b.t, time.Until(date), -50*time.Minute)
			require.Zero(b.t, wait)
			require.Equal(b.t, 200, b.get("retry-503-past").status)
		},
	}
}

func bodyCases() map[string]func(hostileBundle) {
	return map[string]func(hostileBundle){
		"binary": func(b hostileBundle) {
			a := b.get("binary")
			require.Equal(b.t, contentHTML, a.header.Get("Content-Type"))
			require.Len(b.t, a.body, 64<<10)
			require.Contains(b.t, a.body, "\x00")
			require.Equal(b.t, a.body, b.get("binary").body)
		},
		"body-50mb": func(b hostileBundle) { require.Len(b.t, b.get("body-50mb").body, 50<<20) },
		"cookies": func(b hostileBundle) {
			a := b.get("cookies")
			require.Equal(b.t, 302, a.status)
			require.Equal(b.t, "/", a.header.Get("Location"))
			req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.URL(b.host("cookies"), "/"), http.NoBody)
			require.NoError(b.t, err)
			req.Header.Set("Cookie", strings.Split(a.header.Get("Set-Cookie"), ";")[0])
			resp, err := b.client.Do(req)
			require.NoError(b.t, err)
			require.NoError(b.t, resp.Body.Close())
			require.Equal(b.t, 200, resp.StatusCode)
		},
		"deep": func(b hostileBundle) {
			body := b.get("deep").body
			require.Equal(b.t, 100_000, strings.Count(body, "<div>"))
			require.Contains(b.t, extractLinks(b.URL(b.host("deep"), "/"), body), b.URL(b.host("deep"), "/p/1"))
		},
		"half-gzip": func(b hostileBundle) {
			a := b.get("half-gzip")
			page, err := io.ReadAll(unpack(b.t, "gzip", strings.NewReader(a.body)))
			require.ErrorIs(b.t, err, io.ErrUnexpectedEOF)
			require.Contains(b.t, string(page), "<title>half-gzip.hostile.test /</title>")
		},
		"header-1mb": func(b hostileBundle) { require.Len(b.t, b.get("header-1mb").header.Get("X-Big"), 1<<20) },
		"length-long": func(b hostileBundle) {
			a, err := ask(b.t, b.client, b.URL(b.host("length-long"), "/"))
			require.ErrorIs(b.t, err, io.ErrUnexpectedEOF)
			require.Equal(b.t, rawPage, a.body)
		},
		"length-short": func(b hostileBundle) { require.Equal(b.t, rawPage[:30], b.get("length-short").body) },
		"length-twice": func(b hostileBundle) {
			_, err := ask(b.t, b.client, b.URL(b.host("length-twice"), "/"))
			require.ErrorContains(b.t, err, "Content-Length")
			require.Len(b.t, rawPage, 47)
		},
		"links": func(b hostileBundle) {
			body := b.get("links").body
			require.Equal(b.t, 1_000_000, strings.Count(body, "<a href=\"/l/"))
			require.Equal(b.t, 200, mustAsk(b.t, b.client, b.URL(b.host("links"), "/l/999999")).status)
		},
		"login-200": func(b hostileBundle) { require.Contains(b.t, b.get("login-200").body, "type=\"password\"") },
		"login-401": func(b hostileBundle) {
			a := b.get("login-401")
			require.Equal(b.t, 401, a.status)
			require.NotEmpty(b.t, a.header.Get("WWW-Authenticate"))
			require.Contains(b.t, mustAsk(b.t, b.client, b.URL(b.host("login-401"), robotsPath)).body, "type=\"password\"")
		},
		"login-403": func(b hostileBundle) {
			for _, target := range []string{"/", robotsPath} {
				a := mustAsk(b.t, b.client, b.URL(b.host("login-403"), target))
				require.Equal(b.t, 403, a.status)
				require.Contains(b.t, a.body, "type=\"password\"")
			}
		},
	}
}

// dripCases are those that time is part of.
func dripCases() map[string]func(hostileBundle) {
	timesOut := func(b hostileBundle, name string) (answer, Record) {
		b.t.Helper()
		a, err := askWithin(b.t, b.client, b.URL(b.host(name), "/"), 200*time.Millisecond)
		require.ErrorContains(b.t, err, "deadline exceeded")
		rec := b.ended(name)
		require.True(b.t, rec.Aborted)
		return a, rec
	}
	return map[string]func(hostileBundle){
		"body-stall": func(b hostileBundle) {
			a, _ := timesOut(b, "body-stall")
			require.Contains(b.t, a.body, "<title>")
		},
		"drip": func(b hostileBundle) {
			begin := time.Now()
			a, rec := timesOut(b, "drip")
			most := 1 + int(time.Since(begin)/time.Second)
			require.Regexp(b.t, fmt.Sprintf("^<{1,%d}$", most), a.body)
			require.Equal(b.t, 200, rec.Status)
		},
		"hang": func(b hostileBundle) {
			_, rec := timesOut(b, "hang")
			require.Zero(b.t, rec.Bytes)
		},
		"headers-slow": func(b hostileBundle) {
			_, rec := timesOut(b, "headers-slow")
			require.EqualValues(b.t, len("HTTP/1.1 200 OK\r\n"), rec.Bytes)
		},
		"reset": func(b hostileBundle) {
			_, err := ask(b.t, b.client, b.URL(b.host("reset"), "/"))
			require.ErrorIs(b.t, err, syscall.ECONNRESET)
		},
		"rising": func(b hostileBundle) {
			for range 3 {
				require.Equal(b.t, 200, b.get("rising").status)
			}
			rising, ok := b.hosts[b.host("rising")].site.Behaviour.(Rising)
			require.True(b.t, ok)
			// on a busy machine a request takes longer, and the next one is less early for it
			var starts []time.Duration
			for _, r := range b.Log() {
				if r.Domain() == b.host("rising") {
					var recent []time.Duration
					for _, start := range slices.Backward(starts) {
						recent = append(recent, r.Start-start)
					}
					require.GreaterOrEqual(b.t, r.End-r.Start, rising.latency(recent)*9/10)
					starts = append(starts, r.Start)
				}
			}
			require.Len(b.t, starts, 3)
		},
	}
}
