package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestStatus(t *testing.T) {
	for name, want := range map[string]StatusMessage{
		"ask":  {Version: StatusVersion, ID: 7, Report: []byte{}},
		"told": {Version: StatusVersion, Told: true, ID: 1<<64 - 1, Report: []byte(`{"role":"sink"}`)},
	} {
		body := want.AppendTo(nil)
		got, err := DecodeStatus(body)
		if err != nil || got.Version != want.Version || got.Told != want.Told || got.ID != want.ID || !bytes.Equal(got.Report, want.Report) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for cut := range statusHead {
			if _, err := DecodeStatus(body[:cut]); !errors.Is(err, ErrStatus) {
				t.Errorf("%s cut at %d: %v", name, cut, err)
			}
		}
	}
	ask := (&StatusMessage{ID: 7}).AppendTo(nil)
	spoil := func(at int, b byte) []byte {
		body := bytes.Clone(ask)
		body[at] = b
		return body
	}
	for name, body := range map[string][]byte{
		"no version":        spoil(0, 0),
		"no kind":           spoil(1, 0),
		"an unknown kind":   spoil(1, 3),
		"ask with a report": append(bytes.Clone(ask), "{}"...),
		"a long report":     (&StatusMessage{Told: true, Report: make([]byte, MaxReport+1)}).AppendTo(nil),
	} {
		if m, err := DecodeStatus(body); !errors.Is(err, ErrStatus) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// The head of a Status of a version to come can be read, and answered.
func TestStatusOfAnotherVersion(t *testing.T) {
	body := append((&StatusMessage{ID: 7}).AppendTo(nil), "what we do not know yet"...)
	body[0] = StatusVersion + 1
	m, err := DecodeStatus(body)
	if err != nil || m.Version != StatusVersion+1 || m.Told || m.ID != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
}

func FuzzStatus(f *testing.F) {
	f.Add((&StatusMessage{ID: 1}).AppendTo(nil))
	f.Add((&StatusMessage{Told: true, ID: 2, Report: []byte("{}")}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeStatus(body)
		if err != nil {
			if !errors.Is(err, ErrStatus) {
				t.Fatal(err)
			}
			return
		}
		if m.Version == StatusVersion && !bytes.Equal(m.AppendTo(nil), body) {
			t.Errorf("%x is written as %x", body, m.AppendTo(nil))
		}
	})
}
