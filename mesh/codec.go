package mesh

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Codec encodes messages and replies that have no encoding of their own. All nodes
// of a mesh use the same one. It is used concurrently.
type Codec interface {
	// Append appends v to dst and returns the result.
	Append(dst []byte, v any) ([]byte, error)
	// Decode reads data into the value that into points to. It must not keep data.
	Decode(data []byte, into any) error
}

// CBOR is the codec that a node uses if Config.Codec is nil: RFC 8949, with
// Go's field names or `cbor:"..."` tags; times keep their nanoseconds.
func CBOR() Codec { return cborCodec() }

var cborCodec = sync.OnceValue(func() Codec {
	enc, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode()
	if err != nil {
		panic(fmt.Sprintf("options of the encoder: %v", err))
	}
	dec, err := cbor.DecOptions{MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24}.DecMode()
	if err != nil {
		panic(fmt.Sprintf("options of the decoder: %v", err))
	}
	return cborMode{enc, dec}
})

type cborMode struct {
	enc cbor.UserBufferEncMode
	dec cbor.DecMode
}

func (c cborMode) Append(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	if err := c.enc.MarshalToBuffer(v, buf); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

func (c cborMode) Decode(data []byte, into any) error { return c.dec.Unmarshal(data, into) }
