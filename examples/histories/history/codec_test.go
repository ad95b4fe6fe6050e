package history

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReadsWhatWasWritten(t *testing.T) {
	h := forgetting()
	h.Operations = append(h.Operations, cas(3, 1, 2, 5, 6, true), open(at(4, 7, 0, Add, 2, 0)))
	h.Operations[0].Via = "tail call"
	var text bytes.Buffer
	if _, err := h.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(&text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, got); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}

func TestParseSaysHowFarItGot(t *testing.T) {
	const good = `{"operation":{"key":"k","client":1,"kind":"read","call_ns":1,"return_ns":2,"value":5}}` + "\n"
	for _, c := range []struct{ name, bad, want string }{
		{"cut", good[:40], "cut or damaged"},
		{"two values", `{"event":{"what":"a","at_ns":1}} 2`, "more than one value"},
		{"unknown field", `{"operation":{"colour":"red"}}`, "colour"},
		{"neither", `{}`, "neither"},
		{"both", `{"event":{"what":"a","at_ns":1},"operation":{"key":"k","kind":"read","call_ns":1,"return_ns":2}}`, "neither"},
		{"kind", `{"operation":{"key":"k","kind":"swap","call_ns":1,"return_ns":2}}`, `"swap"`},
		{"no key", `{"operation":{"kind":"read","call_ns":1,"return_ns":2}}`, "without a key"},
		{"client", `{"operation":{"key":"k","client":-1,"kind":"read","call_ns":1,"return_ns":2}}`, "client -1"},
		{"call", `{"operation":{"key":"k","kind":"read","call_ns":-1,"return_ns":2}}`, "before the recording"},
		{"return", `{"operation":{"key":"k","kind":"read","call_ns":3,"return_ns":2}}`, "marked open"},
		{"too long", `{"event":{"what":"` + strings.Repeat("a", lineLimit) + `"}}`, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := Parse(strings.NewReader(good + good + c.bad + "\n" + good))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line 3") {
				t.Errorf("error %v; want line 3, and %q", err, c.want)
			}
			if len(h.Operations) != 2 {
				t.Errorf("%d operations; want the 2 before", len(h.Operations))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	var text bytes.Buffer
	if _, err := forgetting().WriteTo(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.String())
	f.Add(`{"operation":{"key":"k","client":1,"kind":"add","arg":1,"call_ns":1,"open":true}}`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if _, err := h.WriteTo(&again); err != nil {
			t.Fatal(err)
		}
		got, err := Parse(&again)
		if err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
		if d := cmp.Diff(h, got); d != "" {
			t.Errorf("read back (-want +got):\n%s", d)
		}
	})
}
