package web

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

func BenchmarkRender(b *testing.B) {
	for name, s := range map[string]Site{"plain": {Plain: true}, "special": {WWW: true}} {
		b.Run(name, func(b *testing.B) {
			p, err := NewPlan(Options{Port: 8080, Sites: Uniform(300, s)})
			if err != nil {
				b.Fatal(err)
			}
			h := p.hosts["site-007.test"]
			b.ReportAllocs()
			for i := range b.N {
				target := pagePath(i % 31)
				p.render(h.site, target, p.find(h, target))
			}
		})
	}
}

// BenchmarkServe asks on a new connection each time; run it with -cpu 1 for
// the figure of one core, which then serves the client too.
func BenchmarkServe(b *testing.B) {
	w, err := Start(b.Context(), Options{Sites: Uniform(300, Site{Plain: true})})
	if err != nil {
		b.Fatal(err)
	}
	hosts := w.Hosts()
	i := 0
	b.ResetTimer()
	for range b.N {
		i++
		host := hosts[i%len(hosts)]
		addr, _ := w.Addr(host)
		c, err := net.Dial("tcp4", net.JoinHostPort(addr.String(), strconv.Itoa(w.Port())))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Fprintf(c, "GET /p/%d HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n",
			1+i%30, host, w.Port()); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkJudge(b *testing.B) {
	p, err := NewPlan(Options{Port: 8080, Sites: Uniform(300, Site{Plain: true})})
	if err != nil {
		b.Fatal(err)
	}
	var log Log
	for i, name := range p.Hosts() {
		for k := range 31 {
			at := time.Duration(k)*time.Second + time.Duration(i)
			log = append(log, Record{Host: p.authority(name), Target: pagePath(k), Start: at, End: at + 1, Status: 200})
		}
	}
	b.ResetTimer()
	for range b.N {
		Judge(log, Expectations{Plan: p, Delay: time.Second})
	}
}
