package roster

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// world is two rosters, and the dials under way between them. The two sides of a dial
// go on by themselves, in any order among the others, and either may end without the
// other knowing.
type world struct {
	t       *rapid.T
	rand    *rand.Rand
	now     time.Time
	sides   map[string]*side
	dials   []*crossing
	next    uint32
	history []string // the latest of what has happened
}

// side is one of the nodes: its roster, and what it knows of its links.
type side struct {
	*Roster
	up      wire.LinkID // what it takes for the link
	past    wire.LinkID // its last one that is over
	settled bool        // the other side has said what came by past
	had     map[wire.LinkID]bool
}

// crossing is a dial: what its two sides have done so far.
type crossing struct {
	from, to         string
	id               wire.Identity
	dialler, other   int // steps
	diallerEnded     bool
	otherEnded       bool
	fromPast, toPast wire.LinkID // of what past link each side has spoken
	ready            uint32      // the other side's latest dial when the link came up there
}

// The dialler's steps: it proves who it is, hears that it is welcome, attaches its
// lanes, and hears that the link is up. The other side admits it after the first, and
// puts the link to use after the third.
const (
	proves = iota
	isWelcome
	attaches
	isReady
)

func newWorld(t *rapid.T) *world {
	seed := rapid.Uint64().Draw(t, "seed")
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: epoch, sides: map[string]*side{}}
	for _, at := range []string{"a", "b"} {
		w.sides[at] = &side{Roster: newRoster(at), settled: true, had: map[wire.LinkID]bool{}}
		w.sides[at].Add(epoch, peerOf(at), peerOf(at)+":1", true)
	}
	return w
}

func peerOf(at string) string {
	if at == "a" {
		return "b"
	}
	return "a"
}

func (w *world) log(format string, args ...any) {
	const enough = 60
	w.history = append(w.history, fmt.Sprintf(format, args...))
	if len(w.history) > enough {
		w.history = w.history[1:]
	}
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s:\n%s", fmt.Sprintf(format, args...), strings.Join(w.history, "\n"))
}

// name of a link: its number.
func name(l wire.LinkID) uint32 { return binary.LittleEndian.Uint32(l[:]) }

// do carries out effects at a node. That a dial of its own is given up may be too late.
func (w *world) do(at string, e Effects) {
	for _, l := range e.Close {
		if s := w.sides[at]; s.up == l {
			w.over(at)
		}
	}
	for range e.Abort {
		for _, d := range w.dials {
			if d.from == at && !d.diallerEnded && w.rand.IntN(2) == 0 {
				w.endDial(d, false)
			}
		}
	}
}

// over ends the link of a node, which is then the one it speaks of.
func (w *world) over(at string) {
	w.settle(at)
	s := w.sides[at]
	w.log("%s: link %d is over", at, name(s.up))
	s.past, s.up, s.settled = s.up, wire.LinkID{}, false
}

// settle is for a node that cannot wait any longer to hear what came by its past link:
// if the other side ever had it, the node counts as lost what has arrived.
func (w *world) settle(at string) {
	s := w.sides[at]
	if !s.settled && w.sides[peerOf(at)].had[s.past] {
		w.fatal("%s was never told what came by link %d", at, name(s.past))
	}
	s.settled = true
}

// tell lets a node hear of which past link the other side speaks.
func (w *world) tell(at string, l wire.LinkID) {
	if s := w.sides[at]; s.past == l {
		s.settled = true
	}
}

func (w *world) endDial(d *crossing, counted bool) {
	d.diallerEnded = true
	w.log("%s ends its dial %d", d.from, d.id.Dial)
	w.do(d.from, w.sides[d.from].Dialed(w.now, d.to, d.dialler > isReady, counted))
}

// put puts a link to use at a node, as Establish has allowed.
func (w *world) put(at string, l wire.LinkID, e Effects) {
	s := w.sides[at]
	w.log("%s has link %d", at, name(l))
	w.settle(at)
	w.do(at, e)
	s.up = l
	s.had[l] = true
}

// dial takes the dialler's side one step on, if it does not wait for the other.
func (w *world) dial(d *crossing) {
	s := w.sides[d.from]
	switch d.dialler {
	case proves:
		if !s.Commit(d.to) {
			w.endDial(d, false)
			return
		}
		w.log("%s is committed to dial %d", d.from, d.id.Dial)
		d.fromPast = s.past
		d.id.LastLink = s.past
	case isWelcome:
		if d.other == 0 {
			if d.otherEnded {
				w.endDial(d, false)
			}
			return
		}
		w.tell(d.from, d.toPast)
	case isReady:
		if d.other < 2 {
			if d.otherEnded {
				w.endDial(d, true)
			}
			return
		}
		who := identity(d.to, 1)
		who.Dial = uint64(d.ready)
		ok, e := s.Establish(w.now, who, d.id.Link, true)
		if !ok {
			w.endDial(d, false)
			return
		}
		w.put(d.from, d.id.Link, e)
		d.dialler++
		w.endDial(d, true)
		return
	}
	d.dialler++
}

// answer takes the other side of a dial one step on. What the dialler has sent is read
// though it may have ended.
func (w *world) answer(d *crossing) {
	s := w.sides[d.to]
	switch {
	case d.other == 0 && d.dialler > proves:
		v, _, e := s.Admit(w.now, d.id)
		w.log("%s answers to dial %d: %v", d.to, d.id.Dial, v)
		w.do(d.to, e)
		if v != wire.Welcome {
			d.otherEnded = true
			return
		}
		w.tell(d.to, d.fromPast)
		d.toPast = s.past
		d.other++
	case d.other == 1 && d.dialler > attaches:
		ok, e := s.Establish(w.now, d.id, d.id.Link, false)
		if ok {
			d.ready = w.next
			w.put(d.to, d.id.Link, e)
			d.other++
		}
		d.otherEnded = true
	case d.diallerEnded:
		d.otherEnded = true // nothing more comes
	}
}

func (w *world) begin(at string) {
	dials, e := w.sides[at].Due(w.now)
	w.do(at, e)
	for _, due := range dials {
		w.next++
		id := identity(at, 1)
		id.Dial = uint64(w.next)
		binary.LittleEndian.PutUint32(id.Link[:], w.next)
		w.log("%s dials %d", at, w.next)
		w.dials = append(w.dials, &crossing{from: at, to: due.ID, id: id})
	}
}

// lose lets a node notice that its link is lost.
func (w *world) lose(at string) {
	s := w.sides[at]
	if s.up == (wire.LinkID{}) {
		return
	}
	l := s.up
	w.over(at)
	w.do(at, s.Lost(w.now, peerOf(at), l))
}

// step does something to a dial.
func (w *world) step(d *crossing) {
	switch what := w.rand.IntN(20); {
	case what == 0 && !d.diallerEnded:
		w.endDial(d, true) // its connection is cut
	case what == 1:
		d.otherEnded = true
	case what%2 == 0 && !d.diallerEnded:
		w.dial(d)
	case !d.otherEnded:
		w.answer(d)
	}
	w.tidy()
}

// tidy forgets the dials of which both sides have ended.
func (w *world) tidy() {
	w.dials = slices.DeleteFunc(w.dials, func(d *crossing) bool { return d.diallerEnded && d.otherEnded })
}

// finish lets all dials that are under way come to their end.
func (w *world) finish() {
	for len(w.dials) > 0 {
		for _, d := range slices.Clone(w.dials) {
			if !d.diallerEnded {
				w.dial(d)
			}
			if !d.otherEnded {
				w.answer(d)
			}
		}
		w.tidy()
	}
}

// agree lets the nodes dial until they have one link.
func (w *world) agree() {
	a, b := w.sides["a"], w.sides["b"]
	for round := 0; round < 100 && (a.up != b.up || a.up == wire.LinkID{}); round++ {
		w.now = w.now.Add(a.MaxDelay)
		if a.up != b.up {
			w.lose("a")
			w.lose("b")
		}
		w.begin("a")
		w.begin("b")
		w.finish()
	}
	if a.up != b.up || a.up == (wire.LinkID{}) {
		w.fatal("a has link %d, b %d", name(a.up), name(b.up))
	}
}

// However two nodes' dials interleave, and whenever a link or a dial is lost at either
// side, in the end both have one link and it is the same; and of each link that both
// have had, each was told by the next what had come by it.
func TestTwoNodesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range 2000 {
			w.now = w.now.Add(10 * time.Millisecond)
			at := []string{"a", "b"}[w.rand.IntN(2)]
			switch w.rand.IntN(20) {
			case 0:
				w.lose(at)
			case 1, 2, 3, 4:
				w.begin(at)
			default:
				if len(w.dials) > 0 {
					w.step(w.dials[w.rand.IntN(len(w.dials))])
				}
			}
		}
		w.finish()
		w.agree()
	})
}

// Of two dials that cross before either is admitted, the smaller name's is kept,
// whatever comes first.
func TestCrossedDialsKeepTheSmallerNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.begin("a")
		w.begin("b")
		for _, d := range w.dials {
			w.dial(d) // both are committed
		}
		ours := w.dials[0].id.Link
		for len(w.dials) > 0 {
			d := w.dials[w.rand.IntN(len(w.dials))]
			if w.rand.IntN(2) == 0 && !d.diallerEnded {
				w.dial(d)
			} else if !d.otherEnded {
				w.answer(d)
			}
			w.tidy()
		}
		if a, b := w.sides["a"].up, w.sides["b"].up; a != ours || b != ours {
			w.fatal("a has %d, b has %d, want %d", name(a), name(b), name(ours))
		}
	})
}
