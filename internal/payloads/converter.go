package payloads

import (
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Converter reads and writes payloads by keys, which may be nil.
func Converter(keys *Keys) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), keys)
}

// WorkerConverter is Converter for workers. It panics where a key is missing: the SDK makes a failed
// task of that, which Temporal tries again until the key is there. It would make a failed workflow
// of an error, and lose a signal.
func WorkerConverter(keys *Keys) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), insistent{keys})
}

// Failures is how errors are stored: where there are keys, without a message and a stack that
// can be read.
func Failures(keys *Keys, by converter.DataConverter) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: by, EncodeCommonAttributes: keys.First() != "",
	})
}

// insistent panics where a key is missing.
type insistent struct{ *Keys }

// Decode implements converter.PayloadCodec.
func (i insistent) Decode(stored []*commonpb.Payload) ([]*commonpb.Payload, error) {
	all, err := i.Keys.Decode(stored)
	if missing, is := errors.AsType[*KeyError](err); is {
		panic(missing)
	}
	return all, err
}
