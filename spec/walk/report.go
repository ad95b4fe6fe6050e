package walk

import (
	"math/big"
	"math/bits"

	"github.com/pawl-go/pawl/spec"
)

// Verdict is how a walk has ended.
type Verdict string

// The verdicts.
const (
	Holds    Verdict = "holds"
	Refuted  Verdict = "refuted"
	Endless  Verdict = "never ends" // a path comes back to where it was
	TooLarge Verdict = "too large"  // MaxStates
	TimedOut Verdict = "timed out"  // Timeout
	Running  Verdict = "running"    // in a report of progress
)

// Report is what a walk has found, and how far it got.
type Report struct {
	Program string `json:"program"`
	// Journal: on the second machine, with these actors in other processes.
	Journal  bool         `json:"journal,omitempty"`
	Outside  []spec.Actor `json:"outside,omitempty"`
	Mutant   string       `json:"mutant,omitempty"`
	Failures int          `json:"failures"`
	States   int          `json:"states"`
	Steps    int          `json:"steps"`           // from a state to a state
	Paths    string       `json:"paths,omitempty"` // distinct maximal paths, if all were walked
	Depth    int          `json:"depth"`           // of the last state, in steps
	Waiting  int          `json:"waiting"`         // states found and not yet expanded
	Seconds  float64      `json:"seconds"`
	Verdict  Verdict      `json:"verdict"`
	Detail   string       `json:"detail,omitempty"`
	Timeline []Line       `json:"timeline,omitempty"` // a shortest path to what is wrong
}

func (w *walker) report(v Verdict) Report {
	r := Report{
		Program: w.cfg.Program.Name, Failures: w.cfg.Failures, Verdict: v,
		States: len(w.tree), Steps: len(w.edges), Waiting: len(w.next), Depth: w.depth(int32(len(w.tree) - 1)),
	}
	if w.cfg.Mutants != 0 {
		r.Mutant = w.cfg.Mutants.String()
	}
	if j := w.cfg.Journal; j != nil {
		r.Journal, r.Outside = true, j.Outside
		if j.Mutants != 0 {
			r.Mutant = j.Mutants.String()
		}
	}
	return r
}

// depth is the number of steps to a node.
func (w *walker) depth(at int32) int {
	d := 0
	for ; w.tree[at].from >= 0; at = w.tree[at].from {
		d++
	}
	return d
}

// refuted reports what is wrong, with the path to it.
func (w *walker) refuted(at int32, wr *wrong) Report {
	r := w.report(Refuted)
	r.Detail = wr.err.Error()
	r.Timeline = w.timeline(at, wr.choice)
	return r
}

// concluded reports a walk that has seen everything. A cycle is a path that
// never ends.
func (w *walker) concluded() Report {
	paths, cyclic := w.paths()
	if cyclic >= 0 {
		r := w.report(Endless)
		r.Detail = "a path comes back to where it was: it never ends"
		r.Timeline = w.timeline(cyclic, nil)
		return r
	}
	r := w.report(Holds)
	r.Paths = paths.String()
	return r
}

// paths counts the distinct maximal paths, in topological order; or it gives a
// node that is on a cycle, or behind one.
func (w *walker) paths() (total *big.Int, cyclic int32) {
	out, to, in := w.outgoing()
	count := make([]uint128, len(w.tree))
	count[0] = uint128{0, 1}
	ready := []int32{0}
	done := 0
	for ; len(ready) > 0; done++ {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, next := range to[out[n]:out[n+1]] {
			count[next].add(count[n])
			if in[next]--; in[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done < len(w.tree) {
		for at := range in {
			if in[at] > 0 {
				return nil, int32(at)
			}
		}
	}
	total = new(big.Int)
	for _, end := range w.ends {
		total.Add(total, count[end].big())
	}
	return total, -1
}

// outgoing sorts the edges: those of node n are to[out[n]:out[n+1]]; in counts
// the edges that lead to each node.
func (w *walker) outgoing() (out, to, in []int32) {
	out, to, in = make([]int32, len(w.tree)+1), make([]int32, len(w.edges)), make([]int32, len(w.tree))
	for _, e := range w.edges {
		out[e.from+1]++
		in[e.to]++
	}
	for at := range w.tree {
		out[at+1] += out[at]
	}
	fill := append([]int32(nil), out...)
	for _, e := range w.edges {
		to[fill[e.from]] = e.to
		fill[e.from]++
	}
	return out, to, in
}

// uint128 counts paths: they outgrow 64 bits. It stays at its highest value.
type uint128 struct{ hi, lo uint64 }

func (x *uint128) add(y uint128) {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, over := bits.Add64(x.hi, y.hi, carry)
	if over != 0 {
		hi, lo = ^uint64(0), ^uint64(0)
	}
	x.hi, x.lo = hi, lo
}

func (x uint128) big() *big.Int {
	b := new(big.Int).SetUint64(x.hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(x.lo))
}

// Line is an event of a timeline.
type Line struct {
	Actor   spec.Actor `json:"actor,omitempty"` // on which it happens; none for clients and operators
	Text    string     `json:"text"`
	Failure bool       `json:"failure,omitempty"`
}
