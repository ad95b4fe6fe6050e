package local

import (
	"bytes"

	"github.com/pawl-go/pawl/engine"
)

// The keys of the store. Every byte is legal in types, ids, cells and entries,
// and their order is kept, so that actors can be listed by id and entries of a
// map by name: a part that another one follows is escaped (0x00 becomes 0x00
// 0xff) and ended by 0x00 0x01.
//
//	's' type id 'f' cell         -> value    a flat cell
//	's' type id 'm' cell entry   -> value    an entry of a map
//	'f' ...                      -> rows of the flow, see rows.go
const (
	keyState = 's'
	keyFlow  = 'f'
	keyFlat  = 'f'
	keyMap   = 'm'
)

// appendPart appends an escaped part and its end.
func appendPart(k []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			return append(appendEscaped(append(k, s[:i]...), s[i:]), 0, 1)
		}
	}
	return append(append(k, s...), 0, 1)
}

func appendEscaped(k []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		k = append(k, s[i])
		if s[i] == 0 {
			k = append(k, 0xff)
		}
	}
	return k
}

// cutPart takes the first part off a key.
func cutPart(k []byte) (s string, rest []byte, ok bool) {
	var b []byte
	for {
		i := bytes.IndexByte(k, 0)
		if i < 0 || i+1 >= len(k) {
			return "", nil, false
		}
		b = append(b, k[:i]...)
		switch k[i+1] {
		case 1:
			return string(b), k[i+2:], true
		case 0xff:
			b = append(b, 0)
		default:
			return "", nil, false
		}
		k = k[i+2:]
	}
}

func actorKey(a engine.Actor) []byte {
	return appendPart(appendPart([]byte{keyState}, a.Type), a.ID)
}

// appendCellKey appends the rest of a key behind the actor's.
func appendCellKey(k []byte, c *engine.Key) []byte {
	if !c.InMap {
		return append(append(k, keyFlat), c.Cell...)
	}
	return append(appendMapKey(k, c.Cell), c.Entry...)
}

func appendMapKey(k []byte, cell string) []byte { return appendPart(append(k, keyMap), cell) }

// cutCellKey reads what appendCellKey appended.
func cutCellKey(k []byte) (c engine.Key, ok bool) {
	if len(k) == 0 {
		return c, false
	}
	if k[0] == keyFlat {
		c.Cell = string(k[1:])
		return c, true
	}
	cell, entry, ok := cutPart(k[1:])
	return engine.Key{Cell: cell, Entry: string(entry), InMap: true}, ok
}

// after is the first key behind all keys that begin with k. Keys end neither
// in 0xff bytes only nor are they empty.
func after(k []byte) []byte {
	end := bytes.Clone(k)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
