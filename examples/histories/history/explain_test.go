package history

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// forgetting is a register that forgets a write when its process is killed, with
// more behind it that no longer matters.
func forgetting() *History {
	const ms = time.Millisecond
	return &History{
		Operations: []Operation{
			at(1, 10*ms, 14*ms, Write, 5, 0),
			at(2, 12*ms, 16*ms, Read, 0, 5),
			at(2, 20*ms, 40*ms, Write, 6, 0),
			at(1, 30*ms, 36*ms, Read, 0, 0),
			at(1, 50*ms, 54*ms, Read, 0, 6),
		},
		Events: []Event{{What: "started", At: 1 * ms}, {What: "killed", At: 24 * ms}, {What: "stopped", At: 60 * ms}},
	}
}

func TestTimeline(t *testing.T) {
	e, err := Explain(forgetting(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteTimeline(&text); err != nil {
		t.Fatal(err)
	}
	want := `k is not linearizable: no order of its first 4 operations (of 5) gives these answers.

10.000 ms to 36.000 ms
[========                                        ] c1 write 5
[   ========                                     ] c2 read: 5
[                  =============================>] c2 write 6: no answer
[                         X                      ] killed
[                                    ============] c1 read: 0   <- no order explains this

The longest order that was found has 2 of them, and ends:
  c1 write 5
  c2 read: 5
The number is 5 then, which does not explain the rest.
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("timeline (-want +got):\n%s", d)
	}
}

func TestLongTimelinesShowTheirEnd(t *testing.T) {
	h := &History{}
	for n := range 200 {
		when := time.Duration(n) * time.Second
		h.Operations = append(h.Operations, at(1, when, when+1, Write, 7, 0))
	}
	h.Operations = append(h.Operations, at(2, time.Hour, time.Hour+1, Read, 0, 8))
	e, err := Explain(h, "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteTimeline(&text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n["); n != timelineRows {
		t.Errorf("%d rows, want %d", n, timelineRows)
	}
	for _, part := range []string{"(141 earlier operations and events are not shown)", "c2 read: 8   <- no order explains this"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q in:\n%s", part, text.String())
		}
	}
}

func TestPage(t *testing.T) {
	e, err := Explain(forgetting(), "k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := e.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<html", "write 6: no answer", "killed"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page does not have %q", part)
		}
	}
}

func TestExplainRefusesWhatIsRight(t *testing.T) {
	h := forgetting()
	h.Operations[3].Value = 5
	if e, err := Explain(h, "k", time.Minute); err == nil {
		t.Errorf("a linearizable history was explained: %+v", e)
	}
	if _, err := Explain(h, "elsewhere", time.Minute); err == nil {
		t.Error("a key without operations was explained")
	}
}

// Every history that must be refuted is shown by a beginning that is refuted, and
// would not be without its last answer.
func TestExplainFindsTheShortest(t *testing.T) {
	for _, f := range fixed {
		if f.want != Refuted {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			e, err := Explain(&History{Operations: f.ops}, "k", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if r, _, _ := search(e.Operations, time.Minute); r != Refuted {
				t.Errorf("the beginning is %s", r)
			}
			before := until(e.Operations, e.last().Return-1)
			if r, _, _ := search(before, time.Minute); r != Linearizable {
				t.Errorf("without its last answer the beginning is %s", r)
			}
		})
	}
}
