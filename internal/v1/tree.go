package v1

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// Tree is an invocation with those that it waits for.
type Tree struct {
	Invocation
	Children []Tree `json:"children,omitempty"`
	Asked    bool   `json:"asked,omitempty"` // it is the one that was asked for
}

// treeSize bounds the invocations of a tree.
const treeSize = 1000

// tree serves GET /v1/invocations/{inv}/tree: from the outermost caller, if it is
// known still.
func (h *Handler) tree(w http.ResponseWriter, r *http.Request) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	op := h.rt.Session().Operator()
	in, err := op.Invocation(r.Context(), id)
	if err != nil {
		return h.gone(id, err)
	}
	if root := in.Request.Root().ID; root != id {
		if above, err := op.Invocation(r.Context(), root); err == nil {
			in = above
		}
	}
	left := treeSize
	out, err := grow(r.Context(), op, &in, id, &left)
	if err != nil {
		return err
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, out)
}

func grow(ctx context.Context, op engine.Operator, in *engine.Info, asked engine.ID, left *int) (Tree, error) {
	t := Tree{Invocation: invocationOf(in), Asked: in.Request.ID == asked}
	for _, id := range in.Callees {
		if *left--; *left <= 0 {
			break
		}
		callee, err := op.Invocation(ctx, id)
		switch {
		case errors.Is(err, engine.ErrNotFound): // it has ended meanwhile
			continue
		case err != nil:
			return t, err
		}
		child, err := grow(ctx, op, &callee, asked, left)
		if err != nil {
			return t, err
		}
		t.Children = append(t.Children, child)
	}
	return t, nil
}

// CancelMany is the body of POST /v1/invocations:cancel. The filter's fields are
// those of the list, and may not all be empty.
type CancelMany struct {
	Filter map[string]string `json:"filter"`
	Reason string            `json:"reason,omitempty"`
	Force  bool              `json:"force,omitempty"`
	DryRun bool              `json:"dry_run,omitempty"`
}

// Canceled is its answer. Refused says why some could not be.
type Canceled struct {
	Items   []string          `json:"items"`
	Refused map[string]string `json:"refused,omitempty"`
	DryRun  bool              `json:"dry_run,omitempty"`
}

// cancelMany serves POST /v1/invocations:cancel.
func (h *Handler) cancelMany(w http.ResponseWriter, r *http.Request) error {
	var in CancelMany
	if err := body(r, &in); err != nil {
		return err
	}
	const known = " type id method status root key since "
	values := map[string][]string{}
	for k, v := range in.Filter {
		if !strings.Contains(known, " "+k+" ") {
			return problem(CodeBadRequest, "filter %s: it is one of%s", k, known)
		}
		values[k] = []string{v}
	}
	q, err := queryOf(values)
	if err != nil {
		return err
	}
	if q == (engine.Query{}) {
		return problem(CodeBadRequest, "an empty filter would select all; name what to cancel")
	}
	if in.Reason == "" {
		in.Reason = "canceled by an operator"
	}
	op := h.rt.Session().Operator()
	out := Canceled{Items: []string{}, Refused: map[string]string{}, DryRun: in.DryRun}
	var ids []engine.ID
	for info, err := range op.Invocations(r.Context(), q) {
		if err != nil {
			return err
		}
		if one := invocationOf(&info); !one.Over() || info.Status == engine.StatusFailed {
			ids = append(ids, info.Request.ID)
		}
	}
	for _, id := range ids {
		if !in.DryRun {
			if err := op.Cancel(r.Context(), id, in.Reason, in.Force); err != nil {
				out.Refused[id.String()] = err.Error()
				continue
			}
		}
		out.Items = append(out.Items, id.String())
	}
	return respond(w, http.StatusOK, out)
}
