package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/topics"
)

// Many is the body of POST /v1/invocations:cancel, :resume, :skip and :answer:
// either ids, or a filter, whose fields are those of the list and may not all
// be empty.
type Many struct {
	IDs    []string          `json:"ids,omitempty"`
	Filter map[string]string `json:"filter,omitempty"`
	DryRun bool              `json:"dry_run,omitempty"`
	Cancel
	Answer
}

// Acted is the answer of an act on many. Refused says why some could not be.
type Acted struct {
	Items   []ActedOn           `json:"items"`
	Refused map[string]*Problem `json:"refused,omitempty"`
	DryRun  bool                `json:"dry_run,omitempty"`
}

// ActedOn is one of them: an invocation with its status after the act (before
// it, if it was a dry run; empty: nothing is kept of it), or an actor.
type ActedOn struct {
	ID     string        `json:"id"`
	Status engine.Status `json:"status,omitempty"`
}

// bulk is an act on many invocations.
type bulk struct {
	on []engine.Status // what a filter that names no status selects
	do func(ctx context.Context, op engine.Operator, id engine.ID, in *Many) error
}

var notOver = []engine.Status{
	engine.StatusScheduled, engine.StatusPending, engine.StatusRunning, engine.StatusParked, engine.StatusFailed,
}

var bulks = map[string]bulk{
	"cancel": {notOver, func(ctx context.Context, op engine.Operator, id engine.ID, in *Many) error {
		return op.Cancel(ctx, id, in.reason(), in.Force)
	}},
	"resume": {[]engine.Status{engine.StatusParked, engine.StatusFailed}, func(ctx context.Context, op engine.Operator, id engine.ID, _ *Many) error {
		return op.Resume(ctx, id)
	}},
	"skip": {[]engine.Status{engine.StatusParked}, func(ctx context.Context, op engine.Operator, id engine.ID, _ *Many) error {
		return op.Skip(ctx, id)
	}},
	"answer": {notOver, func(ctx context.Context, op engine.Operator, id engine.ID, in *Many) error {
		o, err := in.outcome()
		if err != nil {
			return err
		}
		return op.Answer(ctx, id, o)
	}},
}

// many serves POST /v1/invocations:VERB. It goes on after a refusal.
func (h *Handler) many(verb string) serve {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in Many
		if err := body(r, &in); err != nil {
			return err
		}
		if _, err := in.outcome(); err != nil {
			return err
		}
		b := bulks[verb]
		out := Acted{Items: []ActedOn{}, Refused: map[string]*Problem{}, DryRun: in.DryRun}
		chosen, err := h.chosen(r.Context(), &in, &b)
		if err != nil {
			return err
		}
		op := h.rt.Session().Operator()
		for _, one := range chosen {
			if !in.DryRun {
				if one.Status, err = h.actOn(r.Context(), op, one.ID, &in, &b); err != nil {
					out.Refused[one.ID] = problemOf(refused(err))
					continue
				}
			}
			out.Items = append(out.Items, one)
		}
		if err := h.settle(w, r); err != nil {
			return err
		}
		return respond(w, http.StatusOK, out)
	}
}

// chosen are the invocations that a request names, or whose filter selects.
func (h *Handler) chosen(ctx context.Context, in *Many, b *bulk) (list []ActedOn, err error) {
	if len(in.IDs) > 0 {
		if len(in.Filter) > 0 {
			return nil, problem(CodeBadRequest, "either ids or a filter")
		}
		for _, id := range in.IDs {
			list = append(list, ActedOn{ID: id})
		}
		return list, nil
	}
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	for info, err := range h.rt.Session().Operator().Invocations(ctx, q) {
		if err != nil {
			return nil, err
		}
		if q.Status != "" || slices.Contains(b.on, info.Status) {
			list = append(list, ActedOn{info.Request.ID.String(), info.Status})
		}
	}
	return list, nil
}

// actOn does the act on one, and gives its status after that.
func (h *Handler) actOn(ctx context.Context, op engine.Operator, text string, in *Many, b *bulk) (engine.Status, error) {
	id, err := engine.ParseID(text)
	if err != nil {
		return "", problem(engine.ErrNotFound, "%s is not an invocation id", text)
	}
	if err := b.do(ctx, op, id, in); err != nil {
		return "", h.unfit(ctx, id, err)
	}
	info, err := op.Invocation(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return "", nil
	}
	return info.Status, err
}

// query reads the filter.
func (m *Many) query() (engine.Query, error) {
	const known = " type id method status root key since "
	values := map[string][]string{}
	for k, v := range m.Filter {
		if !strings.Contains(known, " "+k+" ") {
			return engine.Query{}, problem(CodeBadRequest, "filter %s: it is one of%s", k, known)
		}
		values[k] = []string{v}
	}
	q, err := queryOf(values)
	if err == nil && q == (engine.Query{}) {
		err = problem(CodeBadRequest, "ids and an empty filter, which would select all: name what is meant")
	}
	return q, err
}

func (c *Cancel) reason() string {
	if c.Reason == "" {
		return "canceled by an operator"
	}
	return c.Reason
}

// outcome is what an answer ends with.
func (a *Answer) outcome() (*engine.Outcome, error) {
	switch {
	case a.Error != nil && a.Value != nil:
		return nil, problem(CodeBadRequest, "either a value or an error")
	case a.Error != nil:
		return &engine.Outcome{Failure: &engine.Failure{
			Kind: engine.FailureApp, Code: a.Error.Code, Message: a.Error.Message, Detail: a.Error.Detail,
		}}, nil
	}
	return &engine.Outcome{Value: a.Value}, nil
}

// PurgeMany is the body of POST /v1/actors:purge: actors of a type, by their ids, or
// those for which there was nothing to do for so long.
type PurgeMany struct {
	Type   string   `json:"type"`
	IDs    []string `json:"ids,omitempty"`
	Older  string   `json:"older,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
}

// purgeMany serves POST /v1/actors:purge. It goes on after a refusal.
func (h *Handler) purgeMany(w http.ResponseWriter, r *http.Request) error {
	var in PurgeMany
	if err := body(r, &in); err != nil {
		return err
	}
	switch {
	case in.Type == "":
		return problem(CodeBadRequest, "the body needs a type")
	case (len(in.IDs) > 0) == (in.Older != ""):
		return problem(CodeBadRequest, "the body needs either ids, or older, such as 24h")
	case topics.IsReserved(in.Type):
		return problem(CodeBadRequest, "%s is a type of Pawl's own", in.Type)
	}
	ids := in.IDs
	if in.Older != "" {
		age, err := duration(in.Older)
		if err != nil {
			return problem(CodeBadRequest, "older=%s: use a duration such as 24h", in.Older)
		}
		if ids, err = h.idleFor(r.Context(), in.Type, age); err != nil {
			return err
		}
	}
	out := Acted{Items: []ActedOn{}, Refused: map[string]*Problem{}, DryRun: in.DryRun}
	for _, id := range ids {
		if !in.DryRun {
			if err := h.purgeOne(r.Context(), engine.Actor{Type: in.Type, ID: id}); err != nil {
				out.Refused[id] = problemOf(refused(err))
				continue
			}
		}
		out.Items = append(out.Items, ActedOn{ID: id})
	}
	return respond(w, http.StatusOK, out)
}

// purgeOne purges an actor, and gives up what it has subscribed to.
func (h *Handler) purgeOne(ctx context.Context, a engine.Actor) error {
	if err := h.rt.Session().Operator().Purge(ctx, a); err != nil {
		return err
	}
	list, err := topics.Of(h.rt).List(ctx, a)
	if err == nil && len(list) > 0 {
		err = topics.Of(h.rt).UnsubscribeAll(ctx, a)
	}
	return err
}

// idleFor lists the actors of a type about which the journal tells nothing
// that is younger than age. It refuses an age of which the journal does not know.
func (h *Handler) idleFor(ctx context.Context, kind string, age time.Duration) ([]string, error) {
	op, before := h.rt.Session().Operator(), time.Now().Add(-age)
	busy, err := h.busySince(ctx, before)
	if err != nil {
		return nil, err
	}
	for in, err := range op.Invocations(ctx, engine.Query{Type: kind}) { // what waits, however long
		if err != nil {
			return nil, err
		}
		if slices.Contains(notOver, in.Status) && in.Status != engine.StatusFailed {
			busy[in.Request.Actor] = true
		}
	}
	const page = 1000
	var idle []string
	for from := ""; ; {
		actors, err := op.Actors(ctx, kind, from, page)
		if err != nil {
			return nil, err
		}
		for _, a := range actors {
			if !busy[a] {
				idle = append(idle, a.ID)
			}
		}
		if len(actors) < page {
			return idle, nil
		}
		from = actors[page-1].ID + "\x00" // the next one in byte order
	}
}

// busySince are the actors of which an event tells that stands behind the first
// one younger than a time: not every record has a time of its own.
func (h *Handler) busySince(ctx context.Context, before time.Time) (map[engine.Actor]bool, error) {
	op := h.rt.Session().Operator()
	stats, err := op.Stats(ctx)
	if err != nil {
		return nil, err
	}
	tail, err := op.Tail(ctx, 0, engine.EventFilter{Until: stats.Last})
	if err != nil {
		return nil, err
	}
	defer tail.Close()
	busy := map[engine.Actor]bool{}
	var oldest time.Time
	young, whole := false, false
	for {
		events, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range events {
			e := &events[i]
			whole = whole || e.Kind == engine.EventEpoch && e.Epoch == 1 // nothing was before
			if oldest.IsZero() && e.Kind != engine.EventSend {           // a send may be older than its record
				oldest = e.Time
			}
			young = young || e.Time.After(before)
			if young {
				busy[e.Actor], busy[e.To] = true, true
			}
		}
	}
	if !whole && (oldest.IsZero() || oldest.After(before)) {
		return nil, problem(CodeConflict, "the journal does not reach back to %s: it is kept for retain= of the engine's URL; say a shorter time, or ids",
			before.UTC().Format(time.RFC3339))
	}
	return busy, nil
}
