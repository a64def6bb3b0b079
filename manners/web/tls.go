package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

// Certificate selects the validity of a site's certificate.
type Certificate string

// The kinds.
const (
	// TLSNone is a site of http.
	TLSNone Certificate = ""
	// TLSValid is issued by Web.RootCA.
	TLSValid Certificate = "valid"
	// TLSExpired expired an hour ago.
	TLSExpired Certificate = "expired"
	// TLSSelfSigned is issued by itself.
	TLSSelfSigned Certificate = "self-signed"
	// TLSWrongHost is for another name.
	TLSWrongHost Certificate = "wrong-host"
)

// tlsCertificates are the kinds that are TLS.
var tlsCertificates = [...]Certificate{TLSValid, TLSExpired, TLSSelfSigned, TLSWrongHost}

func (k Certificate) isKnown() bool {
	if k == TLSNone {
		return true
	}
	for _, known := range tlsCertificates {
		if k == known {
			return true
		}
	}
	return false
}

// isBroken reports whether a crawler has to refuse the certificate.
func (k Certificate) isBroken() bool { return k != TLSNone && k != TLSValid }

// certificates holds the certificates of one web, by address. It is empty without https.
type certificates struct {
	configs   map[netip.Addr]*tls.Config
	tlsOrHTTP map[netip.Addr]bool // also serves http
	root      []byte              // PEM
}

// issue makes the certificates of a plan, which last for a day.
func issue(p *Plan, now time.Time) (*certificates, error) {
	certs := &certificates{configs: make(map[netip.Addr]*tls.Config), tlsOrHTTP: make(map[netip.Addr]bool)}
	root := authority{}
	for _, s := range p.sites {
		if s.TLS == TLSNone {
			continue
		}
		if root.cert == nil {
			var err error
			if root, err = newAuthority(now); err != nil {
				return nil, fmt.Errorf("web: certificate authority: %w", err)
			}
			certs.root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.cert.Raw})
		}
		leaf, err := root.leaf(s, now)
		if err != nil {
			return nil, fmt.Errorf("web: certificate of %q: %w", s.Host, err)
		}
		certs.tlsOrHTTP[s.addr] = s.TLSOrHTTP
		certs.configs[s.addr] = &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12}
	}
	return certs, nil
}

// RootCA returns the PEM certificate that a crawler has to trust: Go programs read it from the file
// named by SSL_CERT_FILE. It is nil if no site has TLS.
func (w *Web) RootCA() []byte { return w.certs.root }

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(now time.Time) (authority, error) {
	template := newTemplate(now, "Synthetic Web Root")
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{cert: cert, key: key}, err
}

func newTemplate(now time.Time, name string) *x509.Certificate {
	return &x509.Certificate{
		BasicConstraintsValid: true,
		NotAfter:              now.Add(24 * time.Hour),
		NotBefore:             now.Add(-24 * time.Hour),
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: name},
	}
}

// leaf returns the certificate of a site, with the fault of its kind.
func (a authority) leaf(s *site, now time.Time) (tls.Certificate, error) {
	template := newTemplate(now, s.Host)
	template.DNSNames = []string{s.Host, "www." + s.Host, "rules." + s.Host}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	switch s.TLS {
	case TLSExpired:
		template.NotAfter = now.Add(-time.Hour)
	case TLSSelfSigned:
		a = authority{cert: template, key: key}
	case TLSWrongHost:
		// a hostile certificate names itself with an escape sequence and a NUL
		template.DNSNames = []string{"\x1b[31melsewhere\x00." + s.Host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
