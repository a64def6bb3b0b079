package document

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Block is a block of code in a document.
type Block struct {
	// Document is its path from the root of the tree, such as docs/runs.md.
	Document string
	// Language is "sh" or another name at the fence. Indented commands are "sh", too.
	Language string
	Text     string
}

// Name returns the document and the first line of the block, without its comment and end spaces.
func (b Block) Name() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	first, _, _ = strings.Cut(first, " # ")
	return b.Document + ": " + strings.TrimSpace(strings.TrimSuffix(first, "\\"))
}

// Documents returns the paths of README.md and docs/*.md, from the root of the tree.
func Documents(t testing.TB, root string) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.Greater(t, len(docs), 20)
	names := []string{"README.md"}
	for _, path := range docs {
		names = append(names, "docs/"+filepath.Base(path))
	}
	slices.Sort(names)
	return names
}

// command matches the beginning of an indented block of shell commands.
var command = regexp.MustCompile(`^(?:[A-Z_]+=\S* )*(?:mosey|worker|temporal|tctl|docker|kubectl|go|git|curl|manners)\s`)

// Blocks returns the fenced blocks of README.md and docs/*.md, and the indented command blocks.
func Blocks(t testing.TB, root string) (all []Block) {
	t.Helper()
	for _, name := range Documents(t, root) {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		all = append(all, blocks(name, string(data))...)
	}
	require.Greater(t, len(all), 50)
	return all
}

func blocks(name, text string) (all []Block) {
	var block *Block
	fenced := false
	indent := ""
	flush := func() {
		if block != nil && (fenced || command.MatchString(block.Text)) {
			all = append(all, *block)
		}
		block, fenced = nil, false
	}
	for line := range strings.Lines(text) {
		language, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		bare := strings.TrimLeft(line, " ")
		switch {
		case isFence && fenced:
			flush()
		case isFence:
			flush()
			block, fenced = &Block{Document: name, Language: language}, true
		case fenced:
			block.Text += line
		case len(line)-len(bare) < 4 || bare == "\n":
			flush()
		case block == nil:
			indent = line[:len(line)-len(bare)]
			block = &Block{Document: name, Language: "sh", Text: bare}
		default:
			block.Text += strings.TrimPrefix(line, indent)
		}
	}
	flush()
	return all
}
