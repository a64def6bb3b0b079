package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/mail"
	"net/netip"
	"os"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/botauth"
)

// IdentityFlags describe the crawler to site owners, beyond AgentFlags.
type IdentityFlags struct {
	Page       string   `help:"URL of the page about the crawler. Default: --contact, if that is a URL." placeholder:"URL"`
	Mail       string   `help:"Mail address that the page names. Default: --contact, if that is a mail address." placeholder:"MAIL"`
	Addresses  []string `help:"Addresses and networks of the crawler's requests, or a file with one per line." aliases:"address" placeholder:"CIDR|FILE"`
	ReverseDNS string   `name:"reverse-dns" help:"Domain of the PTR names of these addresses, such as crawl.example.org." placeholder:"DOMAIN"`
}

const (
	// maxNetworks bounds the number of networks, and maxNetworksFileBytes the size of their file.
	maxNetworks          = 1000
	maxNetworksFileBytes = 64 << 10
)

// Published describes the crawler to site owners.
type Published struct {
	// Page is the page about the crawler, valid if HasPage is set.
	Page    urls.URL
	HasPage bool
	// Contact is the page's mail address or page, or empty if only the page itself is known.
	Contact string
	// Networks are the sources of requests; ReverseDNS is the domain of their names.
	Networks   []netip.Prefix
	ReverseDNS string
}

// Published parses the flags, together with the agent's.
func (f IdentityFlags) Published(agent AgentFlags) (id Published, err error) {
	var errs []error
	id.Page, id.HasPage = agent.ContactPage()
	if f.Page != "" {
		id.HasPage = true
		if id.Page, err = contactURL(f.Page); err != nil {
			errs = append(errs, fmt.Errorf("--page %q: want the URL of the page about the crawler, such as https://crawler.example.org/",
				urls.WithoutCredentials(f.Page)))
		}
	}
	if f.Mail != "" && !isMail(f.Mail) {
		errs = append(errs, fmt.Errorf("--mail %q: want a mail address, such as you@example.org", f.Mail))
	}
	id.Contact = cmp.Or(f.Mail, agent.Contact)
	if contact, is := agent.ContactPage(); f.Mail == "" && is && contact == id.Page {
		id.Contact = ""
	}
	if f.ReverseDNS != "" {
		id.ReverseDNS, err = urls.DomainOf(strings.TrimPrefix(f.ReverseDNS, "."))
		if err != nil || !strings.Contains(id.ReverseDNS, ".") {
			errs = append(errs, fmt.Errorf("--reverse-dns %q: want a domain, such as crawl.example.org", f.ReverseDNS))
		}
	}
	if id.Networks, err = readNetworks(f.Addresses); err != nil {
		errs = append(errs, fmt.Errorf("--addresses %w", err))
	}
	return id, errors.Join(errs...)
}

// readNetworks parses networks, or the file that texts names.
func readNetworks(texts []string) (networks []netip.Prefix, err error) {
	if len(texts) == 1 {
		if _, is := parseNetwork(strings.TrimSpace(texts[0])); !is {
			return readNetworksFile(texts[0])
		}
	}
	for _, text := range texts {
		network, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("%q: want an address or a network, such as 192.0.2.7 or 2001:db8::/64", text)
		}
		networks = append(networks, network.Masked())
	}
	if len(networks) > maxNetworks {
		return nil, fmt.Errorf("has %d networks: want at most %d", len(networks), maxNetworks)
	}
	return networks, nil
}

// readNetworksFile reads a file of networks, one a line; # starts a comment.
func readNetworksFile(name string) ([]netip.Prefix, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%q: want an address or a network, such as 192.0.2.7 or 2001:db8::/64, or a file: %w", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxNetworksFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxNetworksFileBytes {
		return nil, fmt.Errorf("%s: want at most %d bytes", name, maxNetworksFileBytes)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if _, ok := parseNetwork(text); !ok {
			return nil, fmt.Errorf("%s: %.60q: want an address or a network per line, such as 192.0.2.7 or 2001:db8::/64", name, text)
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: no address in the file", name)
	}
	return readNetworks(lines)
}

// AgentFlags identify the crawler in its requests.
type AgentFlags struct {
	UserAgent string `help:"User-Agent to send. Its first word is the product token for robots.txt. Default: mosey/VERSION and the contact." expert:"" placeholder:"TEXT"`
	Contact   string `help:"URL or mail address at which site owners reach you, sent with each request." placeholder:"URL|MAIL"`
}

// Agent returns the User-Agent to send.
func (f AgentFlags) Agent() string {
	if f.UserAgent != "" {
		return f.UserAgent
	}
	agent := crawl.ProductToken + "/" + Version()
	if f.Contact != "" {
		agent += " (+" + f.Contact + ")"
	}
	return agent
}

// Token returns the User-Agent's product token, for robots.txt.
func (f AgentFlags) Token() (string, error) { return crawl.AgentOf(f.Agent()) }

// CheckAgent returns an error for each flag that is of no use to a site owner.
func (f AgentFlags) CheckAgent() error {
	var errs []error
	if _, err := f.Token(); err != nil {
		errs = append(errs, fmt.Errorf("--user-agent: %w", err))
	}
	return errors.Join(append(errs, checkContact(f.Contact))...)
}

func checkContact(contact string) error {
	if contact == "" || isMail(contact) {
		return nil
	}
	_, err := contactURL(contact)
	if errors.Is(err, urls.ErrUserinfo) {
		return fmt.Errorf("--contact: %w", err)
	}
	if err != nil {
		return fmt.Errorf("--contact %q: want a URL or mail address at which site owners reach you, "+
			"such as https://crawler.example.com/ or you@example.org", contact)
	}
	return nil
}

// contactURL parses a contact URL. It refuses a space or bracket, which breaks the User-Agent.
func contactURL(contact string) (urls.URL, error) {
	u, err := urls.Parse(contact)
	if err != nil {
		return u, err
	}
	if !strings.HasPrefix(contact, u.Scheme()+"://") || strings.ContainsAny(contact, " \t\r\n()") ||
		!strings.ContainsAny(u.Host(), ".:") {
		return u, errors.New("neither a URL nor a mail address")
	}
	return u, nil
}

// ContactPage returns the contact if it is a URL.
func (f AgentFlags) ContactPage() (page urls.URL, is bool) {
	if f.Contact == "" || isMail(f.Contact) {
		return page, false
	}
	page, err := contactURL(f.Contact)
	return page, err == nil
}

// isMail reports whether a contact is a mail address, bare or after mailto:.
func isMail(contact string) bool {
	address := strings.TrimPrefix(contact, "mailto:")
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || strings.ContainsAny(address, " ()\"") {
		return false
	}
	host := address[strings.LastIndex(address, "@")+1:]
	name, err := urls.ReadName(host)
	return err == nil && name.Host && strings.Contains(host, ".")
}

// ContactWarning returns a warning if the requests name no contact, else "".
func (f AgentFlags) ContactWarning() string {
	if f.Contact != "" || strings.Contains(f.UserAgent, "@") || strings.Contains(f.UserAgent, "://") {
		return ""
	}
	return "no contact is given, so site owners cannot reach you: " +
		"set --contact (or MOSEY_CONTACT) to a URL or mail address"
}

// SignFlags configure request signatures, which identify the crawler to sites.
type SignFlags struct {
	Sign           string       `help:"File of the Ed25519 key that signs requests (Web Bot Auth), or a folder whose newest key signs. mosey identity keygen creates a key. Default: off." expert:"" placeholder:"FILE|DIR"`
	SignatureAgent string       `help:"For --sign: https URL of the host that serves the public keys, which mosey identity directory prints." expert:"" placeholder:"URL"`
	SignForm       botauth.Form `help:"Draft that --sign follows: architecture-02 (current verifiers) or httpsig-protocol-01 (the IETF's working group). Default: architecture-02." enum:"architecture-02,httpsig-protocol-01" default:"architecture-02" expert:"" placeholder:"FORM"`
}

// signer returns the signer of requests; nil means no signatures. No error contains a key.
func (f SignFlags) signer(logger *slog.Logger) (*botauth.Signer, error) {
	if f.Sign == "" && f.SignatureAgent == "" {
		return nil, nil //nolint:nilnil // that is how not to sign
	}
	if f.Sign == "" {
		return nil, errors.New("--signature-agent needs --sign: without a key no request is signed")
	}
	if _, err := f.SignatureAgentValue(); err != nil {
		return nil, err
	}
	signer, err := botauth.New(botauth.Config{Path: f.Sign, Agent: f.SignatureAgent, Form: f.SignForm, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("--sign: %w", err)
	}
	if logger != nil {
		logger.Info("requests are signed", "keyid", signer.Current(), "agent", signer.Agent(), "form", f.SignForm)
	}
	return signer, nil
}

// SignatureAgentValue returns the value of the Signature-Agent header.
func (f SignFlags) SignatureAgentValue() (string, error) {
	if f.SignatureAgent == "" {
		return "", errors.New("--signature-agent is missing: give the https URL of the host that serves the public keys, " +
			"because sites cannot verify a signature without the key")
	}
	agent, err := f.SignForm.Agent(f.SignatureAgent)
	if err != nil {
		return "", fmt.Errorf("--signature-agent: %w", err) // the given value may contain a password
	}
	return agent, nil
}

// SigningKey returns the signing key's keyid and the URL of its public part, empty without
// signatures.
func (f SignFlags) SigningKey() (keyID, directory string, err error) {
	signer, err := f.signer(nil)
	if signer == nil || err != nil {
		return "", "", err
	}
	return signer.Current(), botauth.DirectoryURL(signer.Agent()), nil
}
