package manners

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

const (
	sourceBomb = "CWE-409, data amplification"
	sourceHold = "CWE-400, uncontrolled resource consumption"
)

// Bounds of endless responses. A page of more than 64 MiB is not for people. Buffered bytes count
// as sent, so the bounds have a margin.
const (
	maxBodyBytes   = 64 << 20
	maxHeaderBytes = 16 << 20
	bufferMargin   = 16 << 20
	maxHeldTime    = 2 * time.Minute
	maxDripTime    = 5 * time.Minute
	// maxSoleTime bounds how long one slow response may be the crawler's only work.
	maxSoleTime = time.Minute
)

// bombCases returns the cases of responses that are far larger than they seem, or endless.
func bombCases() []Case {
	cases := []Case{manyLinks()}
	bombs := make(map[string]web.Behaviour)
	for _, b := range web.Bombs() {
		bombs[b.Name] = b.Behaviour
	}
	for _, t := range []survivalCase{{
		id: "bomb-gzip", title: "Survives 256 MiB of zeros in gzip", description: "256 MiB of zeros in gzip", answer: bombs["bomb-gzip"],
	}, {
		id: "bomb-brotli", title: "Survives 256 MiB of zeros in brotli", description: "256 MiB of zeros in brotli", answer: bombs["bomb-brotli"],
	}, {
		id: "bomb-zstd", title: "Survives 256 MiB of zeros in zstd", description: "256 MiB of zeros in zstd", answer: bombs["bomb-zstd"],
	}, {
		id: "bomb-nested", title: "Survives a bomb in ten layers", description: "zeros in ten layers of gzip",
		answer: bombs["bomb-tenfold"],
	}, {
		id: "bomb-10gb", title: "Survives 10 GiB of zeros in gzip", description: "10 GiB of zeros in gzip", answer: serveFunc(tenGiB),
	}, {
		id: "bomb-robots", title: "Survives a compression bomb as robots.txt", description: "256 MiB of zeros in gzip",
		answer: bombs["bomb-gzip"],
	}} {
		t.source = sourceBomb
		if t.id == "bomb-robots" {
			cases = append(cases, robotsBomb(t))
			continue
		}
		cases = append(cases, t.make())
	}
	for _, t := range []survivalCase{{
		id: "bomb-deep", title: "Survives 100,000 nested elements", description: "100,000 nested elements",
		source: "CWE-674, uncontrolled recursion",
		answer: text{kind: "text/html; charset=utf-8", body: "<!doctype html><title>Deep</title>" + strings.Repeat("<div>", 100_000)},
	}, {
		id: "bomb-endless", title: "Closes the connection of an endless page", description: "an endless page", source: sourceHold,
		answer: serveFunc(endlessBody), judgeRequests: disconnectsWithin(maxBodyBytes, maxHeldTime),
	}, {
		id: "bomb-header", title: "Closes the connection of an endless header", description: "an endless header", source: sourceHold,
		answer:        endlessRaw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", "X-More: and so on\r\n"),
		judgeRequests: disconnectsWithin(maxHeaderBytes, maxHeldTime),
	}, {
		id: "bomb-interim", title: "Closes the connection of endless interim responses",
		description: "endless interim responses", source: sourceHold,
		answer: endlessRaw("", "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"), judgeRequests: disconnectsWithin(maxHeaderBytes, maxHeldTime),
	}, {
		id: "bomb-drip-header", title: "Closes the connection of a header of one line a second",
		description: "a line of a header a second", source: sourceHold,
		answer:        web.Raw{Text: "HTTP/1.1 200 OK\r\n", Repeat: "X-More: in a while\r\n", Every: time.Second},
		judgeRequests: disconnectsWithin(maxHeaderBytes, maxDripTime),
	}, {
		id: "bomb-stall", title: "Closes the connection of a page that stalls halfway",
		description: "half a page, then silence", source: sourceHold,
		answer: web.Stall{}, judgeRequests: disconnectsWithin(maxBodyBytes, maxDripTime),
	}, {
		id: "bomb-drip", title: "Closes the connection of a page of one byte a second, and crawls other hosts meanwhile",
		description: "a byte a second", source: sourceHold,
		answer: web.Drip{Every: time.Second}, judgeRequests: func(e *Evidence, got web.Log) Verdict {
			return worstVerdict(disconnectsWithin(maxBodyBytes, maxDripTime)(e, got), servesOtherHosts(e, got))
		},
	}} {
		cases = append(cases, t.make())
	}
	return cases
}

// disconnectsWithin judges that a client disconnected in time from an endless response.
func disconnectsWithin(size int64, time time.Duration) func(*Evidence, web.Log) Verdict {
	return func(_ *Evidence, got web.Log) Verdict {
		for _, r := range got {
			duration := r.End - r.Start
			switch {
			case r.Bytes > size+bufferMargin:
				return fail([]web.Record{r}, "%d MiB were read in %s, want at most %d MiB", r.Bytes>>20, roundDuration(duration), size>>20)
			case duration > time:
				return fail([]web.Record{r}, "the connection lasted %s, want at most %s", roundDuration(duration), roundDuration(time))
			case r.InFlight:
				return unreached("the run ended after %s and %d KiB of an endless response", roundDuration(duration), r.Bytes>>10)
			}
		}
		r := got[len(got)-1]
		return pass("the client closed the connection after %d KiB and %s", r.Bytes>>10, roundDuration(r.End-r.Start))
	}
}

// servesOtherHosts judges that a slow response of one host does not hold up the others. It passes
// if no other work was left.
func servesOtherHosts(e *Evidence, got web.Log) Verdict {
	for _, r := range got {
		others, later := 0, 0
		for _, o := range e.All {
			switch {
			case hostName(o.Host) == e.host:
			case o.Start > r.Start+tolerance && o.Start < r.End-tolerance:
				others++
			case o.Start >= r.End-tolerance:
				later++
			}
		}
		if duration := r.End - r.Start; others == 0 && later > 0 && duration > maxSoleTime {
			return fail(
				[]web.Record{r}, "no other host was requested in the %s of the response, and %d requests came after it",
				roundDuration(duration), later,
			)
		}
	}
	return pass("other hosts did not wait")
}

// tenGiB is a bomb larger than the memory of a usual machine.
func tenGiB(v *web.Visit) {
	const parts = 10 << 10
	member := zeroPart()
	v.W.Header().Set("Content-Encoding", "gzip")
	v.W.Header().Set("Content-Length", strconv.Itoa(parts*len(member)))
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	for range parts / 64 {
		v.Write(bytes.Repeat(member, 64))
	}
}

// zeroPart is a gzip member that unpacks to 1 MiB. Members may follow one another (RFC 1952 section
// 2.2).
var zeroPart = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(make([]byte, 1<<20))
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // memory takes every write
	}
	return out.Bytes()
})

// Endless responses end past the crawler's bound, because both sides share the machine.
const maxEndlessBytes = maxBodyBytes + 2*bufferMargin

func endlessBody(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	block := bytes.Repeat([]byte("<p>and so on, "), 4<<10)
	for sent := 0; sent < maxEndlessBytes; sent += len(block) {
		v.Write(block)
	}
	v.Abort()
}

// endlessRaw begins a response with a text, and repeats another.
func endlessRaw(text, repeat string) web.Behaviour {
	const block, limit = 64 << 10, maxHeaderBytes + 2*bufferMargin
	return serveFunc(func(v *web.Visit) {
		v.Raw(func(w io.Writer, _ <-chan struct{}) {
			_, err := io.WriteString(w, text)
			chunk := strings.Repeat(repeat, block/len(repeat))
			for sent := 0; sent < limit && err == nil; sent += len(chunk) {
				_, err = io.WriteString(w, chunk) // an error means that the client has left
			}
		})
	})
}

// robotsBomb serves the bomb as robots.txt. A crawler that cannot read it may request pages or not;
// other hosts continue.
func robotsBomb(t survivalCase) Case {
	c := t.make()
	c.sites = func(Options) []web.Site {
		first := linked(t.id+".test", t.answer, otherSurvivalPaths...)
		second := linked(t.id+"-2.test", nil, otherSurvivalPaths...)
		return []web.Site{first, second}
	}
	c.judge = func(e *Evidence) Verdict {
		got := e.requestsFor(robotsPath)
		if len(got) == 0 {
			return unreached("robots.txt was not requested; it responds with %s", t.description)
		}
		return t.judgeSurvival(e, got[len(got)-1], unrequested(e.requestsTo(e.hosts[1]), otherSurvivalPaths))
	}
	return c
}
