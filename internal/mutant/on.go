//go:build mutants

package mutant

import "sync/atomic"

var active atomic.Uint32

// Is reports whether a mutant is active.
func Is(f Fault) bool { return active.Load() == uint32(f) }

// Set makes a mutant the active one, for the whole process. It exists in builds
// with the tag "mutants" only.
func Set(f Fault) { active.Store(uint32(f)) }
