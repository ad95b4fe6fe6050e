package v1

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pawl-go/pawl/engine"
)

// cancel serves POST /v1/invocations/{inv}/cancel: 200 when it has ended, 202
// when it ends once its code has returned.
func (h *Handler) cancel(w http.ResponseWriter, r *http.Request) error {
	var in Cancel
	if err := body(r, &in); err != nil {
		return err
	}
	return h.act(w, r, func(ctx context.Context, op engine.Operator, id engine.ID) error {
		return op.Cancel(ctx, id, in.reason(), in.Force)
	})
}

// answer serves POST /v1/invocations/{inv}/answer.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) error {
	var in Answer
	if err := body(r, &in); err != nil {
		return err
	}
	o, err := in.outcome()
	if err != nil {
		return err
	}
	return h.act(w, r, func(ctx context.Context, op engine.Operator, id engine.ID) error {
		return op.Answer(ctx, id, o)
	})
}

// resume serves POST /v1/invocations/{inv}/resume.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request) error {
	return h.act(w, r, func(ctx context.Context, op engine.Operator, id engine.ID) error {
		return op.Resume(ctx, id)
	})
}

// skip serves POST /v1/invocations/{inv}/skip.
func (h *Handler) skip(w http.ResponseWriter, r *http.Request) error {
	return h.act(w, r, func(ctx context.Context, op engine.Operator, id engine.ID) error {
		return op.Skip(ctx, id)
	})
}

// act does an operator's act on an invocation and answers with what it is now.
func (h *Handler) act(w http.ResponseWriter, r *http.Request, do func(context.Context, engine.Operator, engine.ID) error) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	op := h.rt.Session().Operator()
	if err := do(r.Context(), op, id); err != nil {
		return h.unfit(r.Context(), id, err)
	}
	in, err := op.Invocation(r.Context(), id)
	if errors.Is(err, engine.ErrNotFound) { // skipped, or dropped at once
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	out := invocationOf(&in)
	status := http.StatusOK
	if in.Status == engine.StatusRunning || in.Status == engine.StatusPending {
		status = http.StatusAccepted
	}
	return respond(w, status, out)
}

// unfit tells an invocation that is in no state for an act, a conflict, from one
// that is not there: engines do not.
func (h *Handler) unfit(ctx context.Context, id engine.ID, err error) error {
	if !errors.Is(err, engine.ErrNotFound) {
		return refused(err)
	}
	in, lookup := h.rt.Session().Operator().Invocation(ctx, id)
	if lookup != nil {
		return h.gone(id, err)
	}
	p := problem(CodeConflict, "it is %s: %s", in.Status, problemOf(err).Detail)
	p.Invocation = id.String()
	return p
}

// pause serves POST /v1/actors/{type}/{id}/pause.
func (h *Handler) pause(w http.ResponseWriter, r *http.Request) error {
	return h.onActor(w, r, engine.Operator.Pause)
}

// unpause serves POST /v1/actors/{type}/{id}/unpause.
func (h *Handler) unpause(w http.ResponseWriter, r *http.Request) error {
	return h.onActor(w, r, engine.Operator.Unpause)
}

// purge serves DELETE /v1/actors/{type}/{id}.
func (h *Handler) purge(w http.ResponseWriter, r *http.Request) error {
	if err := h.purgeOne(r.Context(), actorOf(r)); err != nil {
		return refused(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Handler) onActor(w http.ResponseWriter, r *http.Request,
	do func(engine.Operator, context.Context, engine.Actor) error,
) error {
	if err := do(h.rt.Session().Operator(), r.Context(), actorOf(r)); err != nil {
		return refused(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refused makes a conflict of an operator's act that an engine refuses without
// a code of its own: its object is in no state for it.
func refused(err error) error {
	if _, ok := errors.AsType[*Problem](err); ok || engine.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return problem(CodeConflict, "%s", err)
}

// jsonOrNull keeps an absent value from being an empty, invalid RawMessage.
func jsonOrNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}
