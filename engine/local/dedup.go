package local

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// fingerprint tells apart the requests that come with one idempotency key.
// It is never 0.
func fingerprint(r *engine.Request) uint64 {
	h := sha256.New()
	var n [8]byte
	for _, part := range [...]string{r.Actor.Type, r.Actor.ID, r.Method} {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	h.Write(r.Payload)
	return max(1, binary.BigEndian.Uint64(h.Sum(nil)))
}

// found is what the journal says of an ended invocation.
type found struct {
	at    engine.Position // of its outcome; 0: nothing is kept
	asked engine.Position // of its last request
	ending
}

// known is how the requests of a record that may be known already stand.
type known struct {
	skip    []bool
	joins   []*pending // in the flow or scheduled: this session waits with others
	answers []engine.Response
}

// record is Send and Finish (with o) for effects of which an id may be known
// already. What the journal has to be asked for is asked without the lock.
func (s *session) record(by engine.Attempt, ef *engine.Effects, o *engine.Outcome, now time.Time) (engine.Position, error) {
	w := s.encoder(by)
	defer w.free()
	looked := map[engine.ID]*found{}
	for {
		at, missing, err := s.tryRecord(by, ef, o, now, w, looked)
		if err != nil || missing.IsZero() {
			return at, err
		}
		if looked[missing], err = s.e.lookBack(missing); err != nil {
			return 0, err
		}
	}
}

func (s *session) tryRecord(by engine.Attempt, ef *engine.Effects, o *engine.Outcome, now time.Time, w *encoder, looked map[engine.ID]*found) (at engine.Position, missing engine.ID, err error) {
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	var p *pending
	op := "send"
	if o != nil {
		op = "finish"
		p, err = s.finisher(by, o)
	} else {
		p, err = s.sender(by, ef)
	}
	if err != nil {
		return 0, missing, s.refused(op, by, err)
	}
	x := &ending{id: by.ID, step: by.Step, o: o}
	if o != nil {
		x.ended = e.set.Now()
		if p.ending != nil {
			at, err = s.overruled(p, x, w)
			return at, missing, err
		}
	}
	k := known{skip: make([]bool, len(ef.Requests))}
	for i, r := range ef.Requests {
		if missing, err = s.classify(&k, i, r, p, looked); err != nil || !missing.IsZero() {
			return 0, missing, err
		}
	}
	w.reset()
	w.effects(by.ID, ef, now, k.skip)
	switch {
	case o != nil:
		w.outcome(opOutcome, x)
		at, err = s.finish(p, by, ef, x, w, now, k.skip)
	case w.empty():
		at = s.Last()
	default:
		if at, err = e.append(w); err == nil {
			s.apply(p, by, ef, now, k.skip, at)
			e.applied(at)
		}
	}
	if err != nil {
		return 0, missing, err
	}
	for _, j := range k.joins {
		j.wait(s.m)
	}
	for _, a := range k.answers {
		s.m.respond(a)
	}
	if o == nil {
		s.searchDeadlocks(ef)
	}
	return at, missing, nil
}

// classify says how request i stands: new, in the flow, or ended. It returns
// the id for which the journal has to be asked first. mu is held.
func (s *session) classify(k *known, i int, r *engine.Request, sender *pending, looked map[engine.ID]*found) (missing engine.ID, err error) {
	f := s.e.mu.f
	if !r.ID.Derived() {
		return missing, nil
	}
	if p := f.reqs[r.ID]; p != nil {
		k.skip[i] = true
		return missing, k.join(p, r, sender)
	}
	if sender != nil {
		for _, kept := range sender.keeps {
			if kept.id == r.ID {
				k.skip[i] = true
				k.answer(r, kept.o, kept.at)
				return missing, nil
			}
		}
	}
	if !r.Keyed {
		return missing, nil
	}
	l := looked[r.ID]
	if l == nil || l.at == 0 && s.e.done.recent(r.ID) {
		return r.ID, nil
	}
	if l.at == 0 {
		return missing, nil
	}
	k.skip[i] = true
	if l.finger != fingerprint(r) {
		return missing, keyReused(r)
	}
	k.answer(r, l.o, l.at)
	return missing, nil
}

// join handles a request whose invocation has not ended, or is kept.
func (k *known) join(p *pending, r *engine.Request, sender *pending) error {
	if r.Keyed && p.finger != fingerprint(r) {
		return keyReused(r)
	}
	switch {
	case r.Kind == engine.KindTell:
	case p.status == parked:
		k.answer(r, &engine.Outcome{Failure: parkedFailure(p, p.end.o.Failure)}, p.at)
	case p.status == failed:
		k.answer(r, p.end.o, p.at)
	case p.parent != nil && p.parent == sender && p.nested(): // its caller asks again
	default:
		k.joins = append(k.joins, p)
	}
	return nil
}

func (k *known) answer(r *engine.Request, o *engine.Outcome, at engine.Position) {
	if r.Kind != engine.KindTell && o != nil {
		k.answers = append(k.answers, engine.Response{ID: r.ID, Outcome: o, At: at})
	}
}

func keyReused(r *engine.Request) error {
	return &engine.Error{
		Code: engine.ErrKeyReused, Invocation: r.ID.String(), Actor: r.Actor.String(), Method: r.Method,
		Err: fmt.Errorf("the idempotency key was used for another target, method or argument"),
	}
}

// lookBack finds the outcome of an invocation in the journal.
func (e *Engine) lookBack(id engine.ID) (*found, error) {
	at, err := e.done.find(id)
	if err != nil || at == 0 {
		return &found{}, err
	}
	return e.readOutcome(id, at)
}
