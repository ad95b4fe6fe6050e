// Package counter increments a number that is kept outside: in a store that can
// only get and set. It is the example of the paper, with its two wrong variants
// shown to be wrong.
//
//	Incr:        v := store.get;  return TailSelf(Set, v+1)      right
//	IncrInOne:   v := store.get;  store.set(v+1);  return        wrong
//	IncrNested:  v := store.get;  Call(self, Set, v+1);  return  wrong
//
// A failure interrupts Incr or Set, never both. While Incr runs, the store is
// unchanged, so it may read again; once Set runs, the value is its argument, so
// it writes the same again. In the wrong variants a failure after the write runs
// the read again, and the number goes up twice.
//
// A write of a dead attempt may still be on its way, and arrive late. Each write
// carries its actor's fence token, which rises with every placement; the store
// refuses one that is lower than it has seen.
package counter
