package v1

import (
	"net/http"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
)

// Drain is the body of POST /v1/components/{name}/drain.
type Drain struct {
	Grace string `json:"grace,omitempty"` // how long what runs may go on; empty: the component's own
}

// drain serves POST /v1/components/{name}/drain: the component begins nothing any
// more, finishes what runs, gives the rest back, and ends. 202: it has heard.
func (h *Handler) drain(w http.ResponseWriter, r *http.Request) error {
	var in Drain
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Grace != "" {
		if _, err := duration(in.Grace); err != nil {
			return problem(CodeBadRequest, "grace=%s: use a duration such as 30s", in.Grace)
		}
	}
	name := r.PathValue("name")
	if err := h.drains(name); err != nil {
		return err
	}
	o, err := h.rt.Read(r.Context(), runtime.Call{To: engine.Actor{Type: drainType(name)}, Method: methodDrain, Payload: []byte(in.Grace)})
	if err != nil {
		return err
	}
	if o.Failure != nil {
		return problemOfFailure(o.Failure)
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// drains refuses a component that is none, or takes no such request.
func (h *Handler) drains(name string) error {
	var names []string
	for _, m := range h.rt.Session().Members() {
		if m.Name != name {
			names = append(names, m.Name)
			continue
		}
		for _, t := range m.Types {
			if t.Name == drainType(name) {
				return nil
			}
		}
		return problem(CodeConflict, "component %s is not one that can be drained from here: end its process (SIGTERM), which drains it", name)
	}
	p := problem(engine.ErrNotFound, "there is no component %s", name)
	if near := Nearest(name, names); near != "" {
		p.Detail += ". Did you mean " + near + "?"
	}
	return p
}

const methodDrain = "drain"

// drainType is the actor type by which a component is reached, wherever its
// process is: no engine need know of it.
func drainType(component string) string {
	return topics.Reserved + "component/" + engine.Derive("component", component).String()
}

// Drainer is the type that a component of a name hosts so that it can be told
// to drain. What it calls returns at once; grace is 0 if none was asked for.
func Drainer(component string, drain func(grace time.Duration)) *runtime.Type {
	return &runtime.Type{
		Name: drainType(component), Identity: drainType(component),
		Methods: map[string]*runtime.Method{methodDrain: {Name: methodDrain, ReadOnly: true}},
		New:     func(string) runtime.Instance { return drainer(drain) },
	}
}

type drainer func(grace time.Duration)

// Invoke begins the draining: it cannot wait for it, being what runs itself.
func (d drainer) Invoke(_ *runtime.Invocation, _ *runtime.Method, payload []byte) runtime.Result {
	grace := time.Duration(0)
	if len(payload) > 0 {
		var err error
		if grace, err = duration(string(payload)); err != nil {
			return runtime.Result{Failure: engine.Fail(engine.ErrBadPayload, "grace: "+err.Error())}
		}
	}
	d(grace)
	return runtime.Result{}
}

func (drainer) Load([]engine.Cell) error                          { return nil }
func (drainer) Activate(*runtime.Invocation) error                { return nil }
func (drainer) Settle()                                           {}
func (drainer) Deactivate()                                       {}
func (drainer) Recorded()                                         {}
func (drainer) Discard()                                          {}
func (drainer) Writes(dst []engine.Write) ([]engine.Write, error) { return dst, nil }
