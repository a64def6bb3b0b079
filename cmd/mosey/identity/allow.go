package identity

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/botauth"
)

type allowCmd struct {
	wiring.AgentFlags
	wiring.IdentityFlags
	wiring.SignFlags

	JSON bool `name:"json" help:"Print JSON: the User-Agent, the addresses and the keys, and a rule for each protection."`
}

// AllowDoc describes the crawler to the owner of a site that is behind a protection against bots.
type AllowDoc struct {
	UserAgent   string         `json:"user_agent"`
	Token       string         `json:"product_token"`
	Addresses   []netip.Prefix `json:"addresses,omitempty"`
	AddressList string         `json:"address_list,omitempty"`
	ReverseDNS  string         `json:"reverse_dns,omitempty"`
	// Keys is the URL of the keys that verify signed requests (Web Bot Auth).
	Keys string `json:"keys,omitempty"`
	// Anubis is an entry of the list "bots" of a policy, and Cloudflare the expression of a custom
	// rule.
	Anubis     string `json:"anubis"`
	Cloudflare string `json:"cloudflare"`
}

func (c *allowCmd) Run(e *command.Env) error {
	published, err := c.Published(c.AgentFlags)
	if err = errors.Join(c.CheckAgent(), err); err != nil {
		return wiring.Usagef("%w", err)
	}
	doc := AllowDoc{UserAgent: c.Agent(), Addresses: published.Networks, ReverseDNS: published.ReverseDNS}
	if doc.Token, err = c.Token(); err != nil {
		return wiring.Usagef("--user-agent: %w", err)
	}
	if published.HasPage && len(published.Networks) > 0 {
		doc.AddressList = published.Page.Origin() + "/" + rangesFile
	}
	if c.Sign != "" || c.SignatureAgent != "" {
		agent, err := c.SignatureAgentValue()
		if err != nil {
			return wiring.Usagef("%w", err)
		}
		doc.Keys = botauth.DirectoryURL(agent)
	}
	doc.addRules(c.Contact)
	if c.JSON {
		return command.PrintJSON(e.Stdout, doc)
	}
	return doc.print(e.Stdout)
}

// addRules adds the rules, which match the contact in the User-Agent: others may use the same
// product token.
func (d *AllowDoc) addRules(contact string) {
	part := d.Token + "/"
	if contact != "" && strings.Contains(d.UserAgent, contact) {
		part = contact
	}
	var anubis, cloudflare strings.Builder
	fmt.Fprintf(&anubis, "- name: %s\n  user_agent_regex: '%s'\n  action: ALLOW\n",
		strings.ToLower(d.Token), strings.ReplaceAll(regexp.QuoteMeta(part), "'", "''"))
	fmt.Fprintf(&cloudflare, "(http.user_agent contains %q", part)
	if len(d.Addresses) > 0 {
		fmt.Fprintf(&anubis, "  remote_addresses: [\"%s\"]\n", d.joinAddresses(`", "`))
		fmt.Fprintf(&cloudflare, " and ip.src in {%s}", d.joinAddresses(" "))
	}
	d.Anubis, d.Cloudflare = anubis.String(), cloudflare.String()+")"
}

func (d *AllowDoc) joinAddresses(separator string) string {
	networks := make([]string, len(d.Addresses))
	for i, network := range d.Addresses {
		networks[i] = network.String()
	}
	return strings.Join(networks, separator)
}

func (d *AllowDoc) print(w io.Writer) error {
	fmt.Fprintln(w, "Send this to the owner of a site whose protection against bots blocks the crawler.")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"User-Agent", d.UserAgent},
		{"Addresses", cmp.Or(d.joinAddresses(", "), "unknown: give --addresses, because anybody can send this User-Agent")},
		{"Address list", d.AddressList},
		{"Reverse DNS", d.ReverseDNS},
		{"Keys", cmp.Or(d.Keys, "requests are not signed; --sign signs them (Web Bot Auth)")},
	} {
		if row[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", row[0], row[1])
		}
	}
	if err := command.Flush(t); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nAnubis: an entry of the list bots in its policy file, before the other entries\n\n%s\n", d.Anubis)
	fmt.Fprintf(w, "Cloudflare: the expression of a custom rule with the action Skip\n\n%s\n\n", d.Cloudflare)
	proof := "an address list or signed requests, which are missing"
	switch {
	case d.Keys != "":
		proof = "Web Bot Auth with " + d.Keys
	case d.AddressList != "":
		proof = "the IP list " + d.AddressList
	case d.ReverseDNS != "":
		proof = "reverse DNS with " + d.ReverseDNS
	}
	_, err := fmt.Fprintf(w, "Cloudflare's verified bots, for which you apply yourself in its dashboard:\n"+
		"user-agent match pattern %s, verification by %s\n", d.Token, proof)
	return err
}
