package botauth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// DirectoryPath is the path of a host's directory of keys.
const DirectoryPath = "/.well-known/http-message-signatures-directory"

// Form is a way to sign, named by the version of its draft. Verifiers follow one draft.
type Form string

const (
	// FormArchitecture02 is draft-meunier-web-bot-auth-architecture-02, which verifiers such as
	// Cloudflare implement today: Signature-Agent is a string that names a host.
	FormArchitecture02 Form = "architecture-02"

	// FormProtocol01 is draft-ietf-webbotauth-httpsig-protocol-01: Signature-Agent is a dictionary
	// that names the directory. Method and path are signed, too, against use for other pages.
	FormProtocol01 Form = "httpsig-protocol-01"
)

// label names the only signature in its headers.
const label = "sig1"

// covers returns the signed components of a request, in their order.
func (f Form) covers() []string {
	if f == FormProtocol01 {
		return []string{"@authority", "@method", "@path", fieldAgent}
	}
	return []string{"@authority", fieldAgent}
}

// Agent returns the Signature-Agent for an https URL without user, query or fragment.
func (f Form) Agent(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return "", errors.New("want the https URL of the host that serves the public keys, such as https://crawler.example.org")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(raw, "#") {
		return "", errors.New("want a URL without query and fragment")
	}
	if strings.ContainsFunc(u.Host, func(c rune) bool {
		return c <= ' ' || c > '~' || c == '"' || c == '\\'
	}) {
		return "", errors.New("want an ASCII host: write other scripts in their xn-- form")
	}
	host, path := "https://"+authorityOf("https", u.Host), u.EscapedPath()
	isRoot := path == "" || path == "/"
	switch {
	case f == FormProtocol01 && isRoot:
		return host + DirectoryPath, nil
	case f == FormProtocol01:
		return host + path, nil
	case isRoot || path == DirectoryPath:
		return host, nil
	}
	return "", fmt.Errorf("the form %s names a host, and its keys are at %s: want %s", f, DirectoryPath, host)
}

// DirectoryURL returns the URL of the keys for an agent from Form.Agent.
func DirectoryURL(agent string) string {
	if strings.Contains(strings.TrimPrefix(agent, "https://"), "/") {
		return agent
	}
	return agent + DirectoryPath
}

// authorityOf returns the @authority of RFC 9421, 2.2.3: lower case, without the scheme's port.
func authorityOf(scheme, host string) string {
	host = strings.ToLower(host)
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	return strings.TrimSuffix(host, port)
}
