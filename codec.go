package pawl

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// None is the input of a method without input, or the output of one without
// output. It is encoded as nothing at all.
type None struct{}

// Codec turns arguments, results and state into bytes and back. It must be safe
// for concurrent use, must not keep or change b, and what Marshal returns is the
// caller's. All components of an application must agree on the codec of
// arguments and results.
type Codec interface {
	// ContentType names the format, as in "application/json".
	ContentType() string
	// Marshal encodes v, which is never a None.
	Marshal(v any) ([]byte, error)
	// Unmarshal decodes b, which is not empty, into the value that v points to.
	Unmarshal(b []byte, v any) error
}

// jsonCodec is the default: encoding/json, with a short way for plain values
// that writes and reads the same bytes.
type jsonCodec struct{}

func (jsonCodec) ContentType() string { return "application/json" }

func (jsonCodec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case int:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	case string:
		if plainString(v) {
			return append(append(append(make([]byte, 0, len(v)+2), '"'), v...), '"'), nil
		}
	}
	return json.Marshal(v)
}

func (jsonCodec) Unmarshal(b []byte, v any) error {
	switch v := v.(type) {
	case *int64:
		if n, ok := smallInt(b); ok {
			*v = n
			return nil
		}
	case *int:
		if n, ok := smallInt(b); ok {
			*v = int(n)
			return nil
		}
	case *string:
		if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' && plainString(b[1:n-1]) {
			*v = string(b[1 : n-1])
			return nil
		}
	}
	return json.Unmarshal(b, v)
}

// plainString reports whether JSON writes s as it is, between quotes.
func plainString[S string | []byte](s S) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// smallInt reads a JSON integer of at most nine digits, so that it fits every int.
func smallInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 9 || (digits[0] == '0' && len(digits) > 1) {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) != len(b) {
		n = -n
	}
	return n, true
}

// encode encodes an argument, a result or a state value. A None is nothing.
func encode(c Codec, v any) ([]byte, error) {
	if _, none := v.(None); none {
		return nil, nil
	}
	return c.Marshal(v)
}

// decode is the reverse. Nothing decodes to the zero value: a method that has
// got an input since the request was sent still runs.
func decode(c Codec, b []byte, v any) error {
	if _, none := v.(*None); none || len(b) == 0 {
		return nil
	}
	return c.Unmarshal(b, v)
}

// badPayload says that an argument or a result does not encode or decode.
func badPayload(doing, what string, v any, err error) *Error {
	return &Error{Code: ErrBadPayload, Err: fmt.Errorf("%s %s %T: %w", doing, what, v, err)}
}
