package web

import (
	"io"
	"strings"
	"time"
)

// Raw responds with bytes that need not be HTTP, then closes the connection.
type Raw struct {
	// Text is sent first.
	Text string

	// Repeat, if not empty, is sent after Text until the client leaves: once per Every, or as fast
	// as the client reads if Every is 0.
	Repeat string
	Every  time.Duration
}

// Serve implements Behaviour.
func (b Raw) Serve(v *Visit) {
	v.Raw(func(w io.Writer, gone <-chan struct{}) {
		// An error means that the client has left, which also closes gone.
		_, err := io.WriteString(w, b.Text)
		if b.Repeat == "" || err != nil {
			return
		}
		if b.Every == 0 {
			for block := strings.Repeat(b.Repeat, 1+(4<<10)/len(b.Repeat)); err == nil; {
				_, err = io.WriteString(w, block)
			}
			return
		}
		ticker := time.NewTicker(b.Every)
		defer ticker.Stop()
		for err == nil {
			select {
			case <-gone:
				return
			case <-ticker.C:
				_, err = io.WriteString(w, b.Repeat)
			}
		}
	})
}

// Truth implements Behaviour.
func (Raw) Truth() Truth { return Truth{} }

const rawPage = "<!doctype html><title>Raw</title><p>Hello.</p>\n"

// rawBehaviours returns responses that break HTTP/1.1 in one way each.
func rawBehaviours() []Named {
	const ok = "HTTP/1.1 200 OK\r\n"
	const html = ok + "Content-Type: text/html\r\n"
	return []Named{
		{Name: "chunk-endless", Behaviour: Raw{Text: html + "Transfer-Encoding: chunked\r\n\r\n", Repeat: "0"}},
		{Name: "header-1mb-line", Behaviour: Raw{Text: html + "X-Big: ", Repeat: "x"}},
		{Name: "headers-endless", Behaviour: Raw{Text: ok, Repeat: "X-More: and so on\r\n"}},
		{Name: "headers-slow", Behaviour: Raw{Text: ok, Repeat: "X-More: in a while\r\n", Every: time.Second}},
		{Name: "http-0.9", Behaviour: Raw{Text: rawPage}},
		{Name: "http-garbage", Behaviour: Raw{Text: "220 mail.example.org ESMTP\r\n250 OK\r\n"}},
		{Name: "http-invalid", Behaviour: Raw{Text: "HTTP/1.1 fine\r\nno colon\r\n\r\n" + rawPage}},
		{Name: "interim-endless", Behaviour: Raw{Repeat: "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n"}},
		{Name: "length-long", Behaviour: Raw{Text: html + "Content-Length: 4096\r\n\r\n" + rawPage}},
		{Name: "length-short", Behaviour: Raw{Text: html + "Content-Length: 30\r\n\r\n" + rawPage}},
		{Name: "length-twice", Behaviour: Raw{Text: html + "Content-Length: 47\r\nContent-Length: 30\r\n\r\n" + rawPage}},
		{Name: "silent-close", Behaviour: Raw{}},
	}
}
