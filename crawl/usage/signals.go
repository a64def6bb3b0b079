package usage

import (
	"cmp"
	"strings"

	"github.com/dunglas/httpsfv"
)

// ContentSignals are the preferences of contentsignals.org and of the IETF's working group
// AIPREF, which are about the same three uses.
type ContentSignals struct {
	// Search is about building a search index and showing links and short
	// extracts, AIInput about using the page as input of a model, as in answers
	// to questions, AITrain about training models.
	Search  Signal `json:"search,omitzero"`
	AIInput Signal `json:"ai_input,omitzero"`
	AITrain Signal `json:"ai_train,omitzero"`
}

// Signal is one preference; its zero value neither grants nor restricts.
type Signal struct {
	Answer Answer `json:"answer"`
	By     Source `json:"by"`
}

// Answer is the value of a content signal.
type Answer string

// The answers. Where a publisher gives both, "no" wins.
const (
	Unset Answer = ""
	Yes   Answer = "yes"
	No    Answer = "no"
)

// add reads a list such as "search=yes, ai-train=no". Unknown signals and
// values are ignored.
func (c *ContentSignals) add(list string, by Source) {
	for field := range strings.SplitSeq(bounded(list), ",") {
		name, value, _ := strings.Cut(strings.ToLower(field), "=")
		signal := Signal{Answer: Answer(strings.TrimSpace(value)), By: by}
		if signal.Answer != Yes && signal.Answer != No {
			continue
		}
		switch strings.TrimSpace(name) {
		case "search":
			c.Search.merge(signal)
		case "ai-input":
			c.AIInput.merge(signal)
		case "ai-train":
			c.AITrain.merge(signal)
		}
	}
}

// addUsage reads the preferences of a Content-Usage header or line, a dictionary of RFC 9651
// such as "train-ai=n, search=y" (draft-ietf-aipref-vocab-06 §6). As the RFC demands, one that
// is no dictionary says nothing at all. Unknown labels and values are ignored. The labels of
// earlier drafts are read as well, so that nobody who has adopted one is overlooked.
func (c *ContentSignals) addUsage(list string, by Source) {
	if len(list) > MaxValueBytes {
		return
	}
	dictionary, err := httpsfv.UnmarshalDictionary([]string{list})
	if err != nil {
		return
	}
	said := func(labels ...string) Signal {
		var s Signal
		for _, label := range labels {
			member, _ := dictionary.Get(label)
			if item, is := member.(httpsfv.Item); is {
				switch item.Value {
				case httpsfv.Token("y"):
					s.merge(Signal{Yes, by})
				case httpsfv.Token("n"):
					s.merge(Signal{No, by})
				}
			}
		}
		return s
	}
	// of the drafts up to 05: all that is automated, unless something is said of a part
	all := said("bots")
	for _, f := range []struct {
		to   *Signal
		said Signal
	}{
		{&c.Search, said("search")},
		{&c.AIInput, said("ai-use", "ai-input")},
		{&c.AITrain, said("train-ai", "ai", "genai", "train-genai", "tdm")},
	} {
		f.to.merge(cmp.Or(f.said, all))
	}
}

func (s *Signal) merge(other Signal) {
	if s.Answer == Unset || s.Answer == Yes && other.Answer == No {
		*s = other
	}
}

// refusal is the source of a "no".
func (s *Signal) refusal() Source {
	if s.Answer != No {
		return ""
	}
	return s.By
}
