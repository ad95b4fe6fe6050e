package kar

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/sidecar/host"
)

// TestUnavailableIsAnswered503: what could not be recorded may be sent again, and the
// answer says so. KAR's clients do send again what is answered 503; so nothing else is.
func TestUnavailableIsAnswered503(t *testing.T) {
	for _, x := range []struct {
		err    error
		status int
	}{
		{&engine.Error{Code: engine.ErrUnavailable, Err: errors.New("no space left on device")}, 503},
		{fmt.Errorf("send: %w", engine.ErrUnavailable), 503},
		{&engine.Error{Code: engine.ErrOverloaded}, 503},
		{&engine.Error{Code: engine.ErrOutcomeUnknown}, 500},
		{&engine.Error{Code: engine.ErrFenced}, 409},
		{&engine.Error{Code: engine.ErrEnded}, 409},
		{fmt.Errorf("%w: f:1", host.ErrNoSession), 409},
		{&engine.Error{Code: engine.ErrNoHost}, 404},
		{&engine.Error{Code: engine.ErrNoMethod}, 404},
		{&engine.Error{Code: engine.ErrTooLarge}, 413},
		{&engine.Error{Code: engine.ErrDeadlock}, 500},
		{errors.New("anything"), 500},
	} {
		w := httptest.NewRecorder()
		new(Handler).fail(w, x.err)
		if w.Code != x.status || (w.Header().Get("Retry-After") != "") != (x.status == 503) || w.Body.String() != x.err.Error() {
			t.Errorf("%v: %d %v %q, want %d", x.err, w.Code, w.Header(), w.Body, x.status)
		}
	}
	for code, status := range map[engine.Code]int{engine.ErrUnavailable: 503, engine.ErrNoHost: 404, engine.ErrDeadlock: 500} {
		w := httptest.NewRecorder()
		h := new(Handler)
		err := h.answer(w, &engine.Outcome{Failure: engine.Fail(code, "why")}, nil)
		if err == nil || statusOf(err) != status {
			t.Errorf("an outcome %s: %v, want %d", code, err, status)
		}
	}
}
