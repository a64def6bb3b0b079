package crawl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestJSONFault(t *testing.T) {
	t.Parallel()
	require.NoError(t, crawl.JSONError(nil))
	own := fmt.Errorf("%w: want text such as \"10s\"", crawl.ErrInvalid)
	require.Equal(t, own, crawl.JSONError(own))
	for text, says := range map[string]string{
		`{"name":5}`:            "name: want a string, not the number",
		`{"list":"x"}`:          "list: want a list, not a string",
		`{"count":1.5}`:         "count: want a whole number, not the number 1.5",
		`{"count":{}}`:          "count: want a whole number, not an object",
		`{"share":true}`:        "share: want a number, not true or false",
		`{"on":[]}`:             "on: want true or false, not a list",
		`{"under":{"name":[]}}`: "under.name: want a string, not a list",
		`"x"`:                   "want an object, not a string",
		`{"name"`:               "invalid JSON at byte 7",
		`{"at":"tomorrow"}`:     `"tomorrow": want a time such as 2030-12-01T06:00:00Z`,
	} {
		var v struct {
			Name  string   `json:"name"`
			List  []string `json:"list"`
			Count int64    `json:"count"`
			Share *float64 `json:"share"`
			On    bool     `json:"on"`
			Under struct {
				Name string `json:"name"`
			} `json:"under"`
			At time.Time `json:"at"`
		}
		err := crawl.JSONError(json.Unmarshal([]byte(text), &v))
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.EqualError(t, err, crawl.ErrInvalid.Error()+": "+says, text)
	}
	require.EqualError(t, crawl.JSONError(errors.New("whatever Go says")), crawl.ErrInvalid.Error()+": the JSON cannot be decoded")
}
