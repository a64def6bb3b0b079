package registration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/registration"
)

func TestRegisteredAt(t *testing.T) {
	t.Parallel()
	responses := map[string]string{
		// the shape of RFC 9083, section 5.3
		"/rdap/domain/example.org": `{"objectClassName":"domain","ldhName":"example.org","events":[
			{"eventAction":"last changed","eventDate":"2026-01-01T00:00:00Z"},{"eventAction":"registration","eventDate":"1995-08-31T04:00:00Z"}]}`,
		"/rdap/domain/silent.example": `{"objectClassName":"domain"}`,
		"/rdap/domain/html.example":   `<html>`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "mosey-test", r.UserAgent())
		body, known := responses[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	for _, base := range []string{s.URL + "/rdap", s.URL + "/rdap/"} {
		require.NoError(t, registration.Validate(base))
		at, err := registration.Service{URL: base, UserAgent: "mosey-test"}.RegisteredAt(t.Context(), "example.org")
		require.NoError(t, err)
		require.Equal(t, time.Date(1995, 8, 31, 4, 0, 0, 0, time.UTC), at)
	}
	for domain, want := range map[string]string{
		"silent.example": "no event of registration", "html.example": "invalid character", "unknown.example": "status 404",
	} {
		_, err := registration.Service{URL: s.URL + "/rdap", UserAgent: "mosey-test"}.RegisteredAt(t.Context(), domain)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "/rdap/domain/"+domain)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"rdap.org", "ftp://rdap.org", "https://", "https://a:b@rdap.org", "https://rdap.org?x=y", "%"} {
		require.ErrorContains(t, registration.Validate(bad), "want the address of an RDAP service", bad)
	}
}
