package extract

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mosey-web/mosey/crawl/urls"
)

// loginTextBytes caps the text of a page with only a login form, notices and links, in bytes.
const loginTextBytes = 1024

// LoginURL reports whether a URL is named like a login: by the first label of its host
// ("login.example.org") or by a segment of its path ("/user/Sign-In", "/wp-login.php"). It ignores
// case, extension, "-" and "_". A server that redirects to such a URL requires a login.
func LoginURL(u urls.URL) bool {
	path, _, _ := strings.Cut(u.RequestTarget(), "?")
	return slices.ContainsFunc(append(strings.Split(path, "/"), u.Host()), func(segment string) bool {
		name, _, _ := strings.Cut(segment, ".")
		return isLoginName(name)
	})
}

func isLoginName(name string) bool {
	const maxLength = len("authentication") + 2 // with two separators
	if len(name) > maxLength {
		return false
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "login", "logon", "signin", "sso", "authenticate", "authentication",
		"userlogin", "memberlogin", "accountlogin", "adminlogin", "servicelogin", "wplogin":
		return true
	}
	return false
}

// namesLogin reports whether a title announces a login, in English.
func namesLogin(title string) bool {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, isLoginName) ||
		containsAny(" "+strings.Join(words, " ")+" ", " log in ", " log on ", " sign in ")
}
