package web

import (
	"crypto/tls"
	"sync/atomic"
)

// recordHandshake is the first octet of a client that speaks TLS (RFC 8446 §5.1).
const recordHandshake = 22

// eitherConn speaks TLS if its client does, as the first octet shows.
type eitherConn struct {
	*conn

	tls     *tls.Config
	tlsConn atomic.Pointer[secureConn] // nil before the TLS handshake
	read    bool
}

func (c *eitherConn) Read(p []byte) (int, error) {
	if !c.read && len(p) > 0 {
		n, err := c.conn.Read(p[:1])
		if n == 0 {
			return 0, err
		}
		c.read = true
		if p[0] != recordHandshake {
			c.mu.Lock()
			c.secure = false
			c.mu.Unlock()
			return n, err
		}
		begun := &prefixedConn{conn: c.conn, head: []byte{recordHandshake}}
		c.tlsConn.Store(&secureConn{Conn: tls.Server(begun, c.tls), conn: c.conn})
	}
	if secure := c.tlsConn.Load(); secure != nil {
		return secure.Read(p)
	}
	return c.conn.Read(p)
}

func (c *eitherConn) Write(p []byte) (int, error) {
	if secure := c.tlsConn.Load(); secure != nil {
		return secure.Write(p)
	}
	return c.conn.Write(p)
}

func (c *eitherConn) Close() error {
	if secure := c.tlsConn.Load(); secure != nil {
		return secure.Close()
	}
	return c.conn.Close()
}

// prefixedConn is a conn whose first bytes, head, were read already.
type prefixedConn struct {
	*conn

	head []byte
}

func (c *prefixedConn) Read(p []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.conn.Read(p)
}
