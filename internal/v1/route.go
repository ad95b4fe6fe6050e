package v1

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// serve answers a request. One that returns an error has written nothing.
type serve func(http.ResponseWriter, *http.Request) error

// route is a row of the table of routes.
type route struct {
	method   string
	segments []string // "{name}" stands for any segment
	serve    serve
}

// router finds routes segment by segment in the path as it was sent, so that
// every byte string arrives intact as a name. (http.ServeMux cleans a path of
// empty segments, and does not match a segment that is a slash.)
type router struct{ routes []route }

func (rt *router) handle(method, pattern string, s serve) {
	rt.routes = append(rt.routes, route{method, strings.Split(pattern, "/")[1:], s})
}

// find gives who serves r and sets its path values, or a problem and the
// methods that the path takes.
func (rt *router) find(r *http.Request) (s serve, allow string, err error) {
	path := r.URL.EscapedPath()
	segments := strings.Split(path, "/")[1:]
	for i, text := range segments {
		if segments[i], err = url.PathUnescape(text); err != nil {
			return nil, "", problem(CodeBadRequest, "the path %s: %s", path, err)
		}
	}
	var methods []string
	for i := range rt.routes {
		route := &rt.routes[i]
		if !route.matches(segments) {
			continue
		}
		if route.method == r.Method || route.method == http.MethodGet && r.Method == http.MethodHead {
			route.bind(r, segments)
			return route.serve, "", nil
		}
		methods = append(methods, route.method)
	}
	if methods == nil {
		return nil, "", problem(engine.ErrNotFound, "no route %s %s", r.Method, path)
	}
	slices.Sort(methods)
	allow = strings.Join(methods, ", ")
	p := problem(CodeBadRequest, "%s does not take %s; it takes %s", path, r.Method, allow)
	p.Status = http.StatusMethodNotAllowed
	return nil, allow, p
}

func (r *route) matches(segments []string) bool {
	if len(segments) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if s[0] != '{' && s != segments[i] {
			return false
		}
	}
	return true
}

// bind sets the path values, and Pattern to the name of the last one.
func (r *route) bind(req *http.Request, segments []string) {
	for i, s := range r.segments {
		if s[0] == '{' {
			req.Pattern = s[1 : len(s)-1]
			req.SetPathValue(req.Pattern, segments[i])
		}
	}
}
