package engine

import (
	"testing"

	"pgregory.net/rapid"
)

func TestIDText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ID{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}
		got, err := ParseID(id.String())
		if err != nil || got != id {
			t.Fatalf("ParseID(%q) = %v, %v", id.String(), got, err)
		}
	})
}

func TestDeriveTellsPartsApart(t *testing.T) {
	if Derive("key", "ab", "c") == Derive("key", "a", "bc") || Derive("key", "a") == Derive("once", "a") {
		t.Fatal("different parts give one id")
	}
	if id := Derive("key", "a"); id != Derive("key", "a") || !id.Derived() {
		t.Fatal("the same parts give different ids")
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("1-1")
	f.Add(Derive("key", "x").String())
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseID(s); err == nil && id.String() != s {
			t.Fatalf("ParseID(%q) = %v, which is written differently", s, id)
		}
	})
}

func TestCodes(t *testing.T) {
	err := error(&Error{Code: ErrParked, Actor: "A/a", Method: "M", Invocation: "1-1", Err: ErrNoHost})
	if CodeOf(err) != ErrParked || err.Error() != "pawl: parked: A/a.M (invocation 1-1): pawl: no_host" {
		t.Fatalf("%s: %v", CodeOf(err), err)
	}
}
