package wire_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	root := &engine.Frame{ID: engine.ID{Hi: 1, Lo: 1}, Actor: engine.Actor{Type: "A", ID: "\xff/\x00"}}
	r := &engine.Request{
		Frame: engine.Frame{ID: engine.ID{Hi: 1 << 63, Lo: 9}, Actor: engine.Actor{Type: "B", ID: ""}, Caller: root, Depth: 1},
		Step:  2, Kind: engine.KindNested, Method: "m", Payload: []byte{}, Once: true, InPlace: true,
		Created: time.Unix(5, 123456789).UTC(),
	}
	call := &wire.Call{
		N: 7, Op: wire.OpFinish, By: engine.Attempt{ID: r.ID, Step: 2, N: 3},
		Effects: &engine.Effects{
			Writes:    []engine.Write{{Key: engine.Key{Cell: "c", Entry: "e", InMap: true}, Value: []byte("v")}, {Op: engine.Clear, Key: engine.Key{Cell: "d"}}},
			Reminders: []engine.ReminderChange{{Reminder: engine.Reminder{Actor: root.Actor, Name: "n", Every: time.Minute}, Remove: true}},
			Requests:  []*engine.Request{r},
		},
		Outcome: &engine.Outcome{Tail: r},
		Failure: &engine.Failure{Code: "x", Causes: []*engine.Failure{{Message: "y"}}},
	}
	b, err := wire.Encode(call)
	if err != nil {
		t.Fatal(err)
	}
	got := &wire.Call{}
	if err := wire.Decode(b, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(call, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeepChainsOfCallers(t *testing.T) {
	f := &engine.Frame{}
	for range 1000 { // the runtime's limit of nested calls
		f = &engine.Frame{Caller: f}
	}
	b, err := wire.Encode(&wire.Call{Request: &engine.Request{Frame: *f}})
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Decode(b, &wire.Call{}); err != nil {
		t.Error(err)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	err := (&engine.Error{Code: engine.ErrParked, Actor: "A/a", Err: errors.New("why")})
	got := wire.ErrorOf(err).Err()
	if !errors.Is(got, engine.ErrParked) || got.Error() != err.Error() {
		t.Errorf("%v came back as %v", err, got)
	}
	if wire.ErrorOf(nil).Err() != nil {
		t.Error("no error came back as one")
	}
}

func TestFrameLimits(t *testing.T) {
	b := wire.Append(nil, wire.Frame{Kind: wire.KindHello, Body: make([]byte, 100)})
	if _, err := wire.Read(bytes.NewReader(b), 99); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := wire.Read(bytes.NewReader(b[:50]), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a frame: %v", err)
	}
	b = wire.Append(nil, wire.Frame{Kind: wire.KindCall})
	if _, err := wire.Read(bytes.NewReader(b), 100); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a call without a number: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(wire.Append(nil, wire.Frame{Kind: wire.KindCall, Seq: 1, Ack: 2, Body: []byte("body")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := wire.Read(bytes.NewReader(b), 1<<16)
		if err == nil && !bytes.HasPrefix(b, wire.Append(nil, got)) {
			t.Errorf("%v is not how %x begins", got, b)
		}
	})
}

func FuzzDecode(f *testing.F) {
	seed, err := wire.Encode(&wire.Call{N: 1, Op: wire.OpLoad, Actor: engine.Actor{Type: "A", ID: "a"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, message := range []any{&wire.Hello{}, &wire.Welcome{}, &wire.Call{}, &wire.Reply{}, &wire.Event{}, &wire.Trace{}} {
			if err := wire.Decode(b, message); err != nil && !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%T: %v", message, err)
			}
		}
	})
}
