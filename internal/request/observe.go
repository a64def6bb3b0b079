package request

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Observation is an attempt that was recorded, and how long its phases took. Phases that it
// did not come to are 0.
type Observation struct {
	Attempt crawl.Attempt

	// Resolve is the look-up of the name, Connect includes TLS, FirstByte is from the
	// connection to the answer's first byte, Body from there to the end of the answer, Read
	// what it took to read it, and Record to have it recorded.
	Resolve, Connect, FirstByte, Body, Read, Record time.Duration
}

// answered fills in the phases of an answer.
func (o *Observation) answered(x *Exchange) {
	if r := x.Response; r != nil {
		o.Connect, o.FirstByte, o.Body = r.Connect, r.FirstByte-r.Connect, r.Total-r.FirstByte
	}
}

func (c *Client) observe(o Observation) {
	if c.Observe != nil {
		c.Observe(o)
	}
}
