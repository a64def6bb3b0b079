package extract_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/test/race"
)

var update = flag.Bool("update", false, "write testdata/pages.json anew, with what the reading gives today")

// corpus is pages of every sort: an ordinary one, hostile ones, what fuzzing starts
// from, and markup drawn at random.
func corpus() map[string]string {
	pages := hostilePages()
	for name, page := range pages {
		// a size at which none is slow enough to be read by tags for that
		pages[name] = page[:min(len(page), 50_000)]
	}
	pages["an article"] = string(articlePage())
	for i, s := range fuzzSeeds {
		pages[fmt.Sprintf("fuzz seed %02d", i)] = s
	}
	pieces := strings.Split("<p>|</p>|<div>|</div>|<a href=/a>|<a href='b?c=1&amp;d=2' rel=nofollow>|</a>|<a href=#x>|<a name=y>|"+
		"<title>|</title>|<script>|</script>|<style>|</style>|<template>|</template>|<svg>|</svg>|<math>|<noscript>|</noscript>|"+
		"<table>|<tr>|<td>|</table>|<select>|<option>|</select>|<iframe src=/f>|</iframe>|<noframes>|</noframes>|<frameset>|<frame src=g>|"+
		"<base href=//other.example/x/>|<link rel=canonical href=/c>|<link rel='shortcut icon' href=i.png>|<link rel=next href=n>|"+
		"<meta name=robots content=noindex>|<meta http-equiv=refresh content='3;url=r'>|<meta name=generator content=' G  1 '>|"+
		"<html lang=de-AT>|<body>|<area href=area>|<input type=password>|<input type=text>|<!-- c -->|<!doctype html>|<![CDATA[x]]>|"+
		"words and  more words|Ünï cödé|日本語の文|naïve\u00a0\u2028x|\x1b[31m|\xff\xfe|\x00|&amp;&lt;&nbsp;&#x41;&bogus;| |\n|\t|a|<b|<a href=\"q\" href=z>|"+
		"<textarea>|</textarea>|<plaintext>|<image src=x>|<form>|</form>|<li>|<button>|<object>|<p/>|</>|<?pi?>|<a href=mailto:x>|<a href='http://[bad'>", "|")
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range 400 {
		var b strings.Builder
		for range rng.IntN(150) {
			// what hides the rest of the page is drawn seldom
			piece := pieces[rng.IntN(len(pieces))]
			if !slices.Contains([]string{"<plaintext>", "<script>", "<textarea>", "<frameset>", "<template>"}, piece) || rng.IntN(10) == 0 {
				b.WriteString(piece)
			}
		}
		pages[fmt.Sprintf("soup %03d", i)] = b.String()
	}
	return pages
}

// withoutImages is a page as it was before images were looked for.
type withoutImages struct {
	extract.Page
	Images        *struct{} `json:"Images,omitempty"`        //nolint:tagliatelle // hides the page's
	ImagesDropped *struct{} `json:"ImagesDropped,omitempty"` //nolint:tagliatelle // likewise
	ImagesInvalid *struct{} `json:"ImagesInvalid,omitempty"` //nolint:tagliatelle // likewise
	ImagesData    *struct{} `json:"ImagesData,omitempty"`    //nolint:tagliatelle // likewise
	ImagesSVG     *struct{} `json:"ImagesSVG,omitempty"`     //nolint:tagliatelle // likewise
}

// What is read of a page is kept, compared and hashed: a faster reader must read the
// same. The sums were made before it was.
func TestHTMLReadsAsBefore(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	const golden = "testdata/pages.json"
	pages := corpus()
	got := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for reader, limits := range map[string]extract.Limits{
			"dom": {}, "tags": onlyTags, "small": {MaxLinks: 5, MaxTextBytes: 100, MaxTitleBytes: 9},
		} {
			page, err := json.Marshal(withoutImages{Page: mustHTML(t, pages[name], limits)})
			require.NoError(t, err)
			sum := sha256.Sum256(page)
			got[name+", "+reader] = hex.EncodeToString(sum[:8])
		}
	}
	if *update {
		text, err := json.MarshalIndent(got, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(golden, append(text, '\n'), 0o600))
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	want := map[string]string{}
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, got)
}
