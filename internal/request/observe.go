package request

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Observation is an attempt that was recorded, and how long its phases took. Phases that it
// did not come to are 0.
type Observation struct {
	Attempt crawl.Attempt

	// Resolve is the look-up of the name. Connect includes TLS. FirstByte is from the
	// connection to the answer's first byte, and Body from there to its end. Read is what it
	// took to read the answer, and Record to have it recorded.
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
