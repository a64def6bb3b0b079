package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
)

func TestWhyImage(t *testing.T) {
	t.Parallel()
	r := newExported(t) // whose page was read by a run that asks for none of its images
	const beyond = "known as an image, but no run requests it: its host exceeded the run's image_scope or limits " +
		"when the page that names it was read"
	for _, url := range []string{aPage + "a.jpg", "https://cdn.example/b.png"} {
		out := r.Print("why", url)
		output.ContainsOnSameLine(t, out, url+": ", beyond)
		output.ContainsOnSameLine(t, out, "- named as an image by 1 page, first "+aPage)
	}
	r.exec(`INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type)
		SELECT uuid_v7(), i.id, 1000 + n, 'https://b.example/' || n, 'b.example', 'img'
		FROM images i CROSS JOIN generate_series(1, 1000) n WHERE i.domain = 'cdn.example'`)
	output.ContainsOnSameLine(t, r.Print("why", "https://cdn.example/b.png"), "- named as an image by at least 1000 pages, first "+aPage)
	r.exec("UPDATE provenance SET gone_at = now()")
	output.ContainsOnSameLine(t, r.Print("why", "https://cdn.example/b.png"), "- no page names it as an image any more")
	require.NotContains(t, r.Print("why", aPage), "named as an image")
}
