package wiring

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// AgentFlags say who makes the requests.
type AgentFlags struct {
	UserAgent string `help:"User-Agent to send; its first word is the name robots.txt is read for. Default: mosey/VERSION and the contact." expert:"" placeholder:"TEXT"`
	Contact   string `help:"Address where site owners reach you, a URL or mail address, sent with each request." placeholder:"URL|MAIL"`
}

// Agent is the User-Agent to send.
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

// Token is the product token of the User-Agent, which robots.txt knows it by.
func (f AgentFlags) Token() (string, error) { return crawl.AgentOf(f.Agent()) }

// CheckAgent names each of the flags that no site owner could use.
func (f AgentFlags) CheckAgent() error {
	var errs []error
	if _, err := f.Token(); err != nil {
		errs = append(errs, fmt.Errorf("--user-agent: %w", err))
	}
	return errors.Join(append(errs, checkContact(f.Contact))...)
}

// checkContact refuses a contact that no site owner could use: neither a URL nor a
// mail address.
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

var errContact = errors.New("neither a URL nor a mail address")

// contactURL reads a contact that is a URL. It stands in a comment of the User-Agent,
// which a space or a bracket would break.
func contactURL(contact string) (urls.URL, error) {
	u, err := urls.Parse(contact)
	if err != nil {
		return u, err
	}
	if !strings.HasPrefix(contact, u.Scheme()+"://") || strings.ContainsAny(contact, " \t\r\n()") ||
		!strings.ContainsAny(u.Host(), ".:") {
		return u, errContact
	}
	return u, nil
}

// ContactPage is the contact if that is a URL.
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
	_, err = urls.DomainOf(host)
	return err == nil && strings.Contains(host, ".")
}

// NoContact is a warning where the requests do not say who makes them; else empty.
func (f AgentFlags) NoContact() string {
	if f.Contact != "" || strings.Contains(f.UserAgent, "@") || strings.Contains(f.UserAgent, "://") {
		return ""
	}
	return "no contact is given, so site owners cannot reach you: " +
		"set --contact (or MOSEY_CONTACT) to a URL or mail address"
}
