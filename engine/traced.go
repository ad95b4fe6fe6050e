package engine

import "github.com/pawl-go/pawl/engine/trace"

// Traced gives the attempt in the words of package trace.
func (a Attempt) Traced() trace.Attempt {
	return trace.Attempt{ID: a.ID.traced(), Step: a.Step, N: a.N}
}

// traced is the id's text, empty for the zero id.
func (id ID) traced() string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// Traced gives the actor in the words of package trace.
func (a Actor) Traced() string { return trace.ActorName(a.Type, a.ID) }

// TraceSend gives the event of kind send of a request that by sends. What the
// record knows beside (position, session) is the caller's to add.
func TraceSend(r *Request, by Attempt, scheduled bool) trace.Event {
	e := trace.Event{
		Kind: trace.Send, Attempt: trace.Attempt{ID: r.ID.traced(), Step: r.Step},
		Actor: r.Actor.Traced(), Method: trace.Text(r.Method), By: by.Traced(),
		Form: trace.FormTell, Waiter: r.Waiter.traced(),
		Once: r.Once, Keyed: r.Keyed, Scheduled: scheduled,
		Hash: trace.Hash(r.Payload),
	}
	switch r.Kind {
	case KindNested:
		e.Form = trace.FormNested
	case KindCall:
		e.Form = trace.FormCall
	}
	if r.Caller != nil {
		e.Caller = r.Caller.ID.traced()
	}
	return e
}

// Trace writes how a step ends into e. Failures that mean the same have the
// same hash, wherever they were read.
func (o *Outcome) Trace(e *trace.Event) {
	switch {
	case o.Tail != nil:
		e.End, e.Hash = trace.EndTail, trace.Hash(o.Tail.Payload)
		e.To, e.ToMethod, e.InPlace = o.Tail.Actor.Traced(), trace.Text(o.Tail.Method), o.Tail.InPlace
	case o.Failure != nil:
		f := o.Failure
		e.End, e.Code = trace.EndError, trace.Text(f.Code)
		e.Hash = trace.Hash([]byte{byte(f.Kind)}, []byte(f.Code), []byte(f.Message), f.Detail)
	default:
		e.End, e.Hash = trace.EndValue, trace.Hash(o.Value)
	}
}

// TraceCells gives recorded state in the words of package trace.
func TraceCells(cells []Cell) []trace.Cell {
	list := make([]trace.Cell, 0, len(cells))
	for i := range cells {
		c := cells[i].traced()
		c.Hash = trace.Hash(cells[i].Value)
		list = append(list, c)
	}
	return list
}

// TraceWrites gives writes in the words of package trace.
func TraceWrites(ws []Write) []trace.Cell {
	list := make([]trace.Cell, 0, len(ws))
	for i := range ws {
		c := ws[i].traced()
		switch ws[i].Op {
		case Put:
			c.Hash = trace.Hash(ws[i].Value)
		case Clear:
			c.InMap, c.Clear = true, true
		}
		list = append(list, c)
	}
	return list
}

// Traced gives the key in the words of package trace: a cell without a hash.
func (k Key) Traced() trace.Cell { return k.traced() }

func (k *Key) traced() trace.Cell {
	return trace.Cell{Cell: trace.Text(k.Cell), Entry: trace.Text(k.Entry), InMap: k.InMap}
}
