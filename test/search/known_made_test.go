package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newDocument(m *manual, name, body string) *document {
	d := &document{manual: m, url: m.url + name, body: []byte(body)}
	d.parse()
	return d
}

// shelf is a few documents of a manual that share some words.
func shelf() []*document {
	m := &manual{name: "git", dir: "/d", url: "https://git.example/", language: "en"}
	var docs []*document
	for i, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		common := strings.Repeat("the files of a project are kept in a repository ", 10)
		body := fmt.Sprintf(`<title>git-%s(1)</title><dl><dt class="hdlist1">core.%s</dt></dl><p>%s</p>
			<p>Only here %s does what lanterns, sextants and anchors do not.</p>`, name, name, common, name)
		if i > 2 {
			body = strings.NewReplacer("lanterns", "lamps", "git-delta", "git-same", "git-epsilon", "git-same").Replace(body)
		}
		docs = append(docs, newDocument(m, name+".html", body))
	}
	shorten(docs)
	return docs
}

func TestMakeKnown(t *testing.T) {
	t.Parallel()
	docs := shelf()
	all := makeKnown(docs)
	require.Equal(t, all, makeKnown(shelf()), "the same documents have the same queries")
	for _, kind := range []string{kindTitle, kindPhrase, kindRare, kindIdentifier} {
		var of []known
		for _, k := range all {
			if k.kind == kind {
				of = append(of, k)
			}
		}
		switch kind {
		case kindTitle:
			require.Len(t, of, 3, "a title of two documents tells neither: %q", of)
			require.Contains(t, of, known{kindTitle, "git-alpha", "https://git.example/alpha.html"})
		case kindIdentifier:
			require.Contains(t, of, known{kindIdentifier, "core.gamma", "https://git.example/gamma.html"})
			require.Len(t, of, 8)
		case kindPhrase:
			require.Len(t, of, 5)
			for _, k := range of {
				name := strings.TrimSuffix(strings.TrimPrefix(k.url, "https://git.example/"), ".html")
				require.Contains(t, k.query, name, "only these words tell it from the others")
				require.Len(t, strings.Fields(strings.Trim(k.query, `"`)), phraseWords)
			}
		case kindRare:
			require.Len(t, of, 5)
			for _, k := range of {
				words := strings.Fields(k.query)
				require.Len(t, words, rareWords)
				require.False(t, slices.Contains(words, "alpha"), "a word of one document: %s", k.query)
			}
		}
	}
}

func TestMakeKnownInJapanese(t *testing.T) {
	t.Parallel()
	m := &manual{name: "handbook ja-JP", url: "https://ja.example/", language: "ja"}
	body := "<title>第 6 章 メンテナンス</title><p>" + strings.Repeat("東京都の灯台守は猫を飼っている。 ", 60) + "パッケージの更新とメンテナンスについて。</p>"
	docs := []*document{newDocument(m, "a.html", body), newDocument(m, "b.html", strings.ReplaceAll(body, "猫", "犬"))}
	shorten(docs)
	all := makeKnown(docs)
	require.Len(t, all, 4, "%q", all)
	require.Equal(t, kindPhrase+cjk, all[0].kind)
	require.Contains(t, all[0].query+all[1].query, "猫")
	require.Equal(t, kindRare+cjk, all[2].kind)
}
