package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
)

// firstInput is the input of the first workflow whose id begins so, as Temporal stores it.
func firstInput(t *testing.T, c client.Client, id string) *commonpb.Payloads {
	t.Helper()
	history := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	require.True(t, history.HasNext())
	event, err := history.Next()
	require.NoError(t, err)
	return event.GetWorkflowExecutionStartedEventAttributes().GetInput()
}

// A codec server decrypts for those who ask as Temporal's command line and its UI do, and for no
// page of another site.
func TestCodecServer(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	keys := keyLine("k1")
	h.Setenv("MOSEY_PAYLOAD_KEYS", h.WriteFile("payload.keys", keys))
	s := newSite(t, 1, 2)
	require.Zero(t, h.Execute(s.crawl(s.Seeds()[0])...).Code)
	stored := firstInput(t, h.client(), "domain/site-001.test")
	require.NotContains(t, string(stored.GetPayloads()[0].GetData()), "site-001.test")

	served := h.Start("codec", "--listen", "127.0.0.1:0", "--origin", "https://temporal.example.org/namespaces")
	address := served.Field("Codec server")
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: address})
	plain, err := remote.Decode(stored.GetPayloads())
	require.NoError(t, err)
	require.Contains(t, string(plain[0].GetData()), "site-001.test")
	again, err := remote.Encode(plain)
	require.NoError(t, err)
	require.NotContains(t, string(again[0].GetData()), "site-001.test")
	back, err := remote.Decode(again)
	require.NoError(t, err)
	require.Equal(t, plain[0].GetData(), back[0].GetData())

	body, err := protojson.Marshal(stored)
	require.NoError(t, err)
	ask := func(method, origin string) (code int, allowed, text string) {
		request, err := http.NewRequestWithContext(t.Context(), method, address+"/decode", strings.NewReader(string(body)))
		require.NoError(t, err)
		request.Header.Set("Origin", origin)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode, response.Header.Get("Access-Control-Allow-Origin"), string(body)
	}
	const ui = "https://temporal.example.org"
	code, allowed, _ := ask(http.MethodOptions, ui)
	require.Equal(t, http.StatusNoContent, code)
	require.Equal(t, ui, allowed)
	code, allowed, text := ask(http.MethodPost, ui)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, ui, allowed)
	require.Contains(t, text, `"payloads"`)
	for _, stranger := range []string{"https://elsewhere.test", "null", address} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			code, allowed, text := ask(method, stranger)
			require.Equal(t, http.StatusForbidden, code)
			require.Empty(t, allowed)
			require.NotContains(t, text, `"payloads"`)
		}
	}
	require.Zero(t, served.Stop().Code)

	h.Setenv("MOSEY_PAYLOAD_KEYS", "")
	h.Refuse([]string{"codec"}, "mosey codec needs the keys", "--payload-keys (MOSEY_PAYLOAD_KEYS)")
	h.Setenv("MOSEY_PAYLOAD_KEYS", h.WriteFile("other.keys", keys))
	h.Refuse([]string{"codec", "--origin", "localhost"}, `--origin "localhost": want the address of a Temporal UI`)
	h.Refuse([]string{"codec", "--listen", "8234"}, `--listen "8234": want an address`)
}
