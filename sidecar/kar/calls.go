package kar

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/sidecar/host"
)

// call serves POST /actor/:type/:id/call/*path.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, a engine.Actor, method string) error {
	if method == "" {
		return refuse(http.StatusNotFound, "the path names no method")
	}
	b, err := body(w, r)
	if err != nil {
		return err
	}
	if len(b) > 0 && !json.Valid(b) {
		return refuse(http.StatusBadRequest, "the body is not JSON; it is an array of arguments")
	}
	call := runtime.Call{To: a, Method: method, Payload: host.For(h.comp, a.Type, host.Arguments(b))}
	return h.send(w, r, call)
}

// send makes a call as its Pragma says: waited for, told, or promised.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, call runtime.Call) error {
	s, err := h.session(r)
	if err != nil {
		return err
	}
	switch strings.ToLower(r.Header.Get("Pragma")) {
	case "async", "tell":
		return h.tell(w, r, s, call)
	case "promise":
		return h.promise(w, r, s, call)
	}
	var o *engine.Outcome
	if s != nil {
		o, err = s.Call(r.Context(), call)
	} else {
		o, err = h.comp.Call(r.Context(), call)
	}
	return h.answer(w, o, err)
}

// session is that of the invocation which calls; nil for a call from outside.
func (h *Handler) session(r *http.Request) (*host.Session, error) {
	name := r.URL.Query().Get("session")
	if name == "" || name == "undefined" { // of an actor reference that runs nothing
		return nil, h.open()
	}
	return h.host.Session(name)
}

func (h *Handler) tell(w http.ResponseWriter, r *http.Request, s *host.Session, call runtime.Call) error {
	var err error
	if s != nil {
		err = s.Tell(r.Context(), call)
	} else {
		_, err = h.comp.Tell(r.Context(), call)
	}
	if err != nil {
		return err
	}
	text(w, http.StatusAccepted, "OK")
	return nil
}

func (h *Handler) promise(w http.ResponseWriter, r *http.Request, s *host.Session, call runtime.Call) error {
	var id engine.ID
	if s != nil {
		var err error
		if id, err = s.Start(call); err != nil {
			return err
		}
	} else {
		p, err := h.comp.Go(r.Context(), call)
		if err != nil {
			return err
		}
		id = p.ID()
	}
	text(w, http.StatusAccepted, id.String())
	return nil
}

// await serves POST /await: a promise is an invocation id, known everywhere.
func (h *Handler) await(w http.ResponseWriter, r *http.Request) error {
	b, err := body(w, r)
	if err != nil {
		return err
	}
	id, err := engine.ParseID(strings.Trim(string(b), "\" \r\n\t"))
	if err != nil {
		return refuse(http.StatusInternalServerError, "await: "+err.Error())
	}
	o, here, err := h.host.Await(r.Context(), id)
	if !here {
		o, err = h.comp.Attach(id).Wait(r.Context())
	}
	if engine.CodeOf(err) == engine.ErrNotFound {
		return refuse(http.StatusInternalServerError, "await: no invocation "+id.String()+" is known, or its outcome is no longer kept")
	}
	return h.answer(w, o, err)
}

// thrown is the answer to a call whose method failed.
type thrown struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
}

// answer gives an outcome to who called.
func (h *Handler) answer(w http.ResponseWriter, o *engine.Outcome, err error) error {
	switch {
	case err != nil:
		return err
	case o.Failure != nil:
		return failed(w, o.Failure)
	}
	if r, ok := host.ResponseOf(o.Value); ok {
		return pass(w, &r)
	}
	if len(o.Value) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	v := o.Value
	if !json.Valid(v) {
		quoted, err := json.Marshal(string(v)) // of a codec that is not JSON
		if err != nil {
			return err
		}
		v = quoted
	}
	b := append(append([]byte(`{"value":`), v...), '}')
	return raw(w, "application/kar+json", b)
}

// failed answers with a failure: of the method, or one of ours.
func failed(w http.ResponseWriter, f *engine.Failure) error {
	if f.Kind == engine.FailurePawl {
		code := engine.Code(f.Code)
		message := f.Message
		if code == engine.ErrDeadlock {
			message = "Possible deadlock: " + message
		}
		return refuse(statusOfCode(code), message)
	}
	if status, ok := strings.CutPrefix(f.Code, host.RefusedCode); ok {
		if n, err := strconv.Atoi(status); err == nil {
			return refuse(n, f.Message)
		}
	}
	b, err := json.Marshal(thrown{true, f.Message, string(f.Detail)})
	if err != nil {
		return err
	}
	return raw(w, "application/kar+json", b)
}
