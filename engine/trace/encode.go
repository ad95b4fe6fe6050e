package trace

import (
	"encoding/json"
	"strconv"
)

// Hash is the short hash of some values, each followed by its length: 64 bits
// of FNV-1a in hexadecimal. A nil value is not an empty one.
func Hash(values ...[]byte) string {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, v := range values {
		for _, c := range v {
			h = (h ^ uint64(c)) * prime
		}
		n := uint64(len(v)) + 1
		if v == nil {
			n = 0
		}
		for ; n > 0; n >>= 8 {
			h = (h ^ n&0xff) * prime
		}
		h *= prime
	}
	return strconv.FormatUint(h, 16)
}

// Append appends the event's JSON object to b, without an end of line.
func (e *Event) Append(b []byte) []byte {
	b = append(b, '{')
	b = putString(b, "kind", string(e.Kind))
	b = putUint(b, "at", e.At)
	b = putBool(b, "more", e.More)
	b = putBool(b, "replayed", e.Replayed)
	b = putUint(b, "session", e.Session)
	b = putAttempt(b, e.Attempt)
	b = putString(b, "actor", e.Actor)
	b = putString(b, "method", e.Method)
	b = putNested(b, "by", e.By)
	b = putNested(b, "under", e.Under)
	b = putString(b, "callee", e.Callee)
	b = putString(b, "form", e.Form)
	b = putString(b, "caller", e.Caller)
	b = putString(b, "waiter", e.Waiter)
	b = putBool(b, "once", e.Once)
	b = putBool(b, "keyed", e.Keyed)
	b = putBool(b, "scheduled", e.Scheduled)
	b = putString(b, "end", e.End)
	b = putString(b, "to", e.To)
	b = putString(b, "to_method", e.ToMethod)
	b = putBool(b, "in_place", e.InPlace)
	b = putBool(b, "forced", e.Forced)
	b = putBool(b, "operator", e.Operator)
	b = putBool(b, "kept", e.Kept)
	b = putString(b, "hash", e.Hash)
	b = putString(b, "code", e.Code)
	b = putCells(b, e.Cells)
	b = putBool(b, "fresh", e.Fresh)
	b = putBool(b, "strict", e.Strict)
	b = putString(b, "op", e.Op)
	b = putString(b, "name", e.Name)
	b = putTypes(b, e.Types)
	b = putUint(b, "epoch", e.Epoch)
	b = putUint(b, "lost", uint64(e.Lost))
	b = putBool(b, "removed", e.Removed)
	b = putBool(b, "at_once", e.AtOnce)
	return append(b, '}')
}

func putName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func putString(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	return putText(putName(b, name), v)
}

func putUint(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendUint(putName(b, name), v, 10)
}

func putBool(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return append(putName(b, name), "true"...)
}

func putAttempt(b []byte, a Attempt) []byte {
	b = putString(b, "id", a.ID)
	b = putUint(b, "step", uint64(a.Step))
	return putUint(b, "n", uint64(a.N))
}

func putNested(b []byte, name string, a Attempt) []byte {
	if a == (Attempt{}) {
		return b
	}
	return append(putAttempt(append(putName(b, name), '{'), a), '}')
}

func putCells(b []byte, cells []Cell) []byte {
	if len(cells) == 0 {
		return b
	}
	b = append(putName(b, "cells"), '[')
	for i := range cells {
		c := &cells[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = putString(b, "cell", c.Cell)
		b = putString(b, "entry", c.Entry)
		b = putBool(b, "map", c.InMap)
		b = putBool(b, "clear", c.Clear)
		b = putString(b, "hash", c.Hash)
		b = append(b, '}')
	}
	return append(b, ']')
}

func putTypes(b []byte, types []string) []byte {
	if len(types) == 0 {
		return b
	}
	b = append(putName(b, "types"), '[')
	for i, t := range types {
		if i > 0 {
			b = append(b, ',')
		}
		b = putText(b, t)
	}
	return append(b, ']')
}

// putText writes a string; what needs care is left to encoding/json.
func putText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			q, err := json.Marshal(s)
			if err != nil {
				panic(err) // of a string: cannot be
			}
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
