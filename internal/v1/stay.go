package v1

import (
	"context"
	"net/http"
	"time"
)

// goneTimeout is how long a request outlasts the end of what its client sends.
const goneTimeout = 2 * time.Minute

// Stay gives the requests of HTTP/1 that h serves a context that does not end with what
// their client sends. A client may close that half of its connection once its request
// has gone out, and still reads the answer; net/http takes it for one that has gone, and a
// server cannot tell the two apart before it writes. So both are waited for, the
// latter in vain, for two minutes. A context of HTTP/2 is left as it is: there the end
// of a request and the end of the interest in it are told apart. When end ends, all
// contexts do.
func Stay(end context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			h.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
		defer cancel(nil)
		defer context.AfterFunc(end, func() { cancel(context.Cause(end)) })()
		defer context.AfterFunc(r.Context(), func() {
			gone := time.NewTimer(goneTimeout)
			defer gone.Stop()
			select {
			case <-gone.C:
				cancel(context.Cause(r.Context()))
			case <-ctx.Done():
			}
		})()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
