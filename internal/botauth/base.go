package botauth

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// fieldAgent is the header Signature-Agent as RFC 9421 names components.
const fieldAgent = "signature-agent"

type messageSignature struct {
	input     httpsfv.InnerList
	signature []byte
}

// sign signs the list of a Signature-Input whose items have values.
func sign(key *Key, input httpsfv.InnerList, values []string) (messageSignature, error) {
	base, err := signatureBase(input, values)
	if err != nil {
		return messageSignature{}, err
	}
	return messageSignature{input: input, signature: key.sign([]byte(base))}, nil
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
