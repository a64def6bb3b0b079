package botauth

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// fieldAgent is the header Signature-Agent as RFC 9421 names components.
const fieldAgent = "signature-agent"

type component struct {
	// name is a header in lower case, or begins with @.
	name string
	// param is a parameter of the name, such as req, or empty.
	param      string
	paramValue any
	value      string
}

type param struct {
	name  string
	value any // a string or an int64
}

type messageSignature struct {
	input     httpsfv.InnerList
	signature []byte
}

func sign(key *Key, components []component, params []param) (messageSignature, error) {
	list := httpsfv.InnerList{Params: httpsfv.NewParams()}
	for _, p := range params {
		list.Params.Add(p.name, p.value)
	}
	values := make([]string, len(components))
	for i, c := range components {
		item := httpsfv.NewItem(c.name)
		if c.param != "" {
			item.Params.Add(c.param, c.paramValue)
		}
		list.Items = append(list.Items, item)
		values[i] = c.value
	}
	base, err := signatureBase(list, values)
	if err != nil {
		return messageSignature{}, err
	}
	return messageSignature{input: list, signature: key.sign([]byte(base))}, nil
}

// signatureBase returns the signature base (RFC 9421, 2.5) of a list whose items have values.
func signatureBase(list httpsfv.InnerList, values []string) (string, error) {
	var base strings.Builder
	for i, item := range list.Items {
		name, err := httpsfv.Marshal(item)
		if err != nil {
			return "", err
		}
		base.WriteString(name + ": " + values[i] + "\n")
	}
	input, err := httpsfv.Marshal(httpsfv.List{list})
	if err != nil {
		return "", err
	}
	return base.String() + `"@signature-params": ` + input, nil
}

// headers returns the values of Signature-Input and Signature for labeled signatures.
func headers(labels []string, all []messageSignature) (input, signature string, err error) {
	inputs, signatures := httpsfv.NewDictionary(), httpsfv.NewDictionary()
	for i, name := range labels {
		inputs.Add(name, all[i].input)
		signatures.Add(name, httpsfv.NewItem(all[i].signature))
	}
	if input, err = httpsfv.Marshal(inputs); err != nil {
		return "", "", err
	}
	signature, err = httpsfv.Marshal(signatures)
	return input, signature, err
}
