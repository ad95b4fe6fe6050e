package v1

import (
	"maps"
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
	query    []string // the names of its parameters; anyQuery: whatever is sent
	serve    serve
}

// router finds routes segment by segment in the path as it was sent, so that
// every byte string arrives intact as a name. (http.ServeMux cleans a path of
// empty segments, and does not match a segment that is a slash.)
type router struct{ routes []route }

func (rt *router) handle(d *described) {
	rt.routes = append(rt.routes, route{d.method, strings.Split(d.path, "/")[1:], strings.Fields(d.query), d.serve})
}

// find gives who serves r and sets its path values, or a problem and the
// methods that the path takes. A parameter that the route does not know is a
// problem: a misspelt filter would select all.
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
			return route.serve, "", route.understands(r.URL)
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

// anyQuery, in the table, lets any query through, for who probes or scrapes with
// parameters of its own.
const anyQuery = "*"

// understands refuses a query that does not parse or names what r does not take.
func (r *route) understands(u *url.URL) error {
	if u.RawQuery == "" || slices.Contains(r.query, anyQuery) {
		return nil
	}
	sent, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return problem(CodeBadRequest, "the query %s: %s", u.RawQuery, err)
	}
	var known []string
	for _, name := range r.query {
		if !strings.HasSuffix(name, ":") { // a header
			known = append(known, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		switch {
		case slices.Contains(known, name):
		case known == nil:
			return problem(CodeBadRequest, "%s takes no parameters, and got %s", u.EscapedPath(), name)
		default:
			return problem(CodeBadRequest, "%s has no parameter %s; it has %s", u.EscapedPath(), name, strings.Join(known, ", "))
		}
	}
	return nil
}
