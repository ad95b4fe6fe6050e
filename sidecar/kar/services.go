package kar

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-go/pawl/sidecar/host"
)

// hopByHop are the headers that are between two neighbours, and those by which
// the caller speaks to us.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length", "Pragma",
}

// service serves any verb on /service/:service/call/*path. The path goes on as
// it was written, with its query but for session.
func (h *Handler) service(w http.ResponseWriter, r *http.Request, seg []string) error {
	name, err := url.PathUnescape(seg[1])
	if err != nil || name == "" {
		return refuse(http.StatusBadRequest, "the name of the service is empty or badly escaped")
	}
	b, err := body(w, r)
	if err != nil {
		return err
	}
	req := host.Request{Verb: r.Method, Path: "/" + strings.Join(seg[3:], "/"), Body: b, Header: maps.Clone(r.Header)}
	drop(req.Header)
	if q := r.URL.Query(); len(q) > 0 {
		q.Del("session")
		if len(q) > 0 {
			req.Path += "?" + q.Encode()
		}
	}
	return h.send(w, r, req.Call(name, h.comp.Session().NewID().String()))
}

// pass answers as the service has.
func pass(w http.ResponseWriter, r *host.Response) error {
	drop(r.Header)
	maps.Copy(w.Header(), r.Header)
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // who asked has gone away if it fails
	return nil
}

func drop(h http.Header) {
	for _, name := range hopByHop {
		h.Del(name)
	}
}
