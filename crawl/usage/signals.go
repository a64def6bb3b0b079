package usage

import "strings"

// ContentSignals are the preferences of contentsignals.org.
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
		name, value, _ := strings.Cut(field, "=")
		signal := Signal{Answer: answer(value), By: by}
		if signal.Answer == Unset {
			continue
		}
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "search"):
			c.Search.merge(signal)
		case strings.EqualFold(name, "ai-input"):
			c.AIInput.merge(signal)
		case strings.EqualFold(name, "ai-train"):
			c.AITrain.merge(signal)
		}
	}
}

func answer(value string) Answer {
	value = strings.TrimSpace(value)
	for _, a := range []Answer{Yes, No} {
		if strings.EqualFold(value, string(a)) {
			return a
		}
	}
	return Unset
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
