package service

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Codec encodes and decodes the messages that methods take and send. It must be
// deterministic: equal messages give equal bytes. Its methods may be called
// concurrently.
type Codec interface {
	// Append encodes v behind b.
	Append(b []byte, v any) ([]byte, error)
	// Decode decodes p into what v points to. It must not keep p.
	Decode(p []byte, v any) error
}

// JSON is the codec of encoding/json. A field that the type does not have is an
// error: it would be lost without a word.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Append(b []byte, v any) ([]byte, error) {
	p, err := json.Marshal(v)
	return append(b, p...), err
}

func (jsonCodec) Decode(p []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(p))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(p)) && len(bytes.TrimSpace(p[d.InputOffset():])) > 0 {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Opaque is a message as it stands, not decoded. A method that takes it is called
// for all types that no other method takes; to send one writes Payload as it is.
// The payload that a method gets is good until it returns.
type Opaque struct {
	Type    string
	Payload []byte
}

// Typed is implemented by messages whose type has another name than the Go type,
// so that the latter can be renamed or moved. It is called on a zero value.
type Typed interface{ MessageType() string }
