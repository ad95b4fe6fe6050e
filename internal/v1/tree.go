package v1

import (
	"context"
	"errors"
	"net/http"

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
