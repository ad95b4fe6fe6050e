package engine

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ID names an invocation. Two kinds exist: ids drawn in sequence by a session
// (Hi is the session's number, Lo counts up), and derived ids, which are the
// same whenever they come from the same parts: a keyed request, a call made
// once, the firing of a reminder. The zero ID names nothing.
type ID struct{ Hi, Lo uint64 }

// derived is set in Hi of derived ids; session numbers stay below it.
const derived = 1 << 63

// IsZero reports whether the id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// Derived reports whether the id was made by [Derive].
func (id ID) Derived() bool { return id.Hi&derived != 0 }

// Compare orders ids: by session, then by sequence; derived ids come last.
func (id ID) Compare(other ID) int {
	switch {
	case id.Hi < other.Hi, id.Hi == other.Hi && id.Lo < other.Lo:
		return -1
	case id == other:
		return 0
	}
	return 1
}

// Derive makes the id that belongs to the given parts. Purpose keeps the
// different uses apart ("key", "once", "reminder"). Parts are length-prefixed,
// so every byte string is legal in them.
func Derive(purpose string, parts ...string) ID {
	h := sha256.New()
	var n [8]byte
	for _, p := range append([]string{purpose}, parts...) {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	sum := h.Sum(nil)
	return ID{
		Hi: binary.BigEndian.Uint64(sum) | derived,
		Lo: binary.BigEndian.Uint64(sum[8:]),
	}
}

// OnceID is the id of the nested call named name that (caller, step) makes
// once: the rule "call once".
func OnceID(caller ID, step uint32, name string) ID {
	return Derive("once", caller.String(), fmt.Sprint(step), name)
}

var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// String gives the id as people and programs outside see it: two groups for
// an id drawn in sequence ("2-1a"), one of 26 characters for a derived one.
func (id ID) String() string {
	if !id.Derived() {
		return fmt.Sprintf("%x-%x", id.Hi, id.Lo)
	}
	return idText.EncodeToString(id.bytes())
}

func (id ID) bytes() []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b[:]
}

var errBadID = errors.New("not an invocation id")

// ParseID reads what [ID.String] wrote.
func ParseID(s string) (ID, error) {
	if hi, lo, ok := strings.Cut(s, "-"); ok {
		var id ID
		if _, err := fmt.Sscanf(hi+" "+lo, "%x %x", &id.Hi, &id.Lo); err != nil || id.Derived() || id.String() != s {
			return ID{}, fmt.Errorf("parse id %q: %w", s, errBadID)
		}
		return id, nil
	}
	b, err := idText.DecodeString(s)
	if err != nil || len(b) != 16 {
		return ID{}, fmt.Errorf("parse id %q: %w", s, errBadID)
	}
	id := ID{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
	if !id.Derived() || id.String() != s {
		return ID{}, fmt.Errorf("parse id %q: %w", s, errBadID)
	}
	return id, nil
}
