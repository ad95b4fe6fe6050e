package journal

import (
	"encoding/binary"

	"github.com/pawl-go/pawl/spec"
)

// AppendKey appends an encoding of the machine: two with the same key allow the
// same paths. Steps that only attempts know are left out: in whatever order
// they were, the world is the same, and so is what a crash leaves.
func (m *Machine) AppendKey(b []byte) []byte {
	b = m.World.AppendKey(b)
	b = binary.AppendUvarint(b, uint64(m.Uncommitted()))
	if len(m.path) == 0 {
		return b
	}
	b = m.base.AppendKey(b)
	for at := range m.path {
		s := &m.path[at]
		if s.record > 0 || s.event.Rule == spec.RuleBegin || s.event.Rule == spec.RuleRelease {
			b = appendStep(b, s, m.committed)
		}
	}
	return b
}

func appendStep(b []byte, s *step, committed int) []byte {
	e := &s.event
	for _, text := range []string{string(e.Rule), string(e.By.ID), string(e.ID), string(e.Msg.ID)} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.AppendUvarint(b, uint64(e.By.Step))
	b = binary.AppendUvarint(b, uint64(e.By.N))
	for _, a := range e.Actors {
		b = append(append(b, a...), 0)
	}
	switch {
	case s.record == 0:
		return append(b, 0)
	case s.record <= committed:
		return append(b, 1)
	}
	return append(b, 2)
}
