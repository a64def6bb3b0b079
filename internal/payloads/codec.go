package payloads

import (
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// The metadata of an encrypted payload, as Temporal's samples have them.
const (
	encodingEncrypted = "binary/encrypted"
	metadataKey       = "encryption-key-id"
)

// KeyError says that a payload cannot be decrypted: its key is not given, or is another one.
type KeyError struct {
	// Key is the name of the key that it was encrypted with.
	Key string
	// Wrong says that a key of this name is given and does not fit.
	Wrong bool
}

func (e *KeyError) Error() string {
	if e.Wrong {
		return fmt.Sprintf("a payload in Temporal was encrypted with another key than the %q that is given, or was changed: "+
			"give all processes the same --payload-keys", e.Key)
	}
	return fmt.Sprintf("a payload in Temporal is encrypted with the key %q, which is not given: add it to the file of --payload-keys "+
		"(MOSEY_PAYLOAD_KEYS)", e.Key)
}

// KeyOf is the name of the key that a payload is encrypted with; empty means that it is not.
func KeyOf(p *commonpb.Payload) string {
	if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
		return ""
	}
	return string(p.GetMetadata()[metadataKey])
}

var _ converter.PayloadCodec = (*Keys)(nil)

// Encode encrypts payloads with the first key.
func (k *Keys) Encode(plain []*commonpb.Payload) ([]*commonpb.Payload, error) {
	first := k.First()
	if first == "" {
		return plain, nil
	}
	sealer := k.keys[first]
	all := make([]*commonpb.Payload, len(plain))
	for i, p := range plain {
		text, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		// the random nonce stands in front
		sealed := make([]byte, sealer.NonceSize(), sealer.NonceSize()+len(text)+sealer.Overhead())
		if _, err := rand.Read(sealed); err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		all[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted), metadataKey: []byte(first)},
			Data:     sealer.Seal(sealed, sealed, text, nil),
		}
	}
	return all, nil
}

// Decode decrypts payloads that are encrypted, and returns others as they are. A key that is
// missing or does not fit is a *KeyError.
func (k *Keys) Decode(stored []*commonpb.Payload) ([]*commonpb.Payload, error) {
	all := make([]*commonpb.Payload, len(stored))
	for i, p := range stored {
		var err error
		if all[i], err = k.open(p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (k *Keys) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
		return p, nil
	}
	id := KeyOf(p)
	if k == nil || k.keys[id] == nil {
		return nil, &KeyError{Key: id}
	}
	opener, data := k.keys[id], p.GetData()
	if len(data) < opener.NonceSize() {
		return nil, &KeyError{Key: id, Wrong: true}
	}
	text, err := opener.Open(nil, data[:opener.NonceSize()], data[opener.NonceSize():], nil)
	if err != nil {
		return nil, &KeyError{Key: id, Wrong: true}
	}
	plain := &commonpb.Payload{}
	if err := proto.Unmarshal(text, plain); err != nil {
		return nil, errors.New("a decrypted payload is none: it was not written by Mosey or Temporal")
	}
	return plain, nil
}
