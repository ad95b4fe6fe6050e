package v1_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/pawl-go/pawl/internal/v1"
)

// asker sends a request, with headers as "Name: value" lines, and wants a status; 0:
// any.
type asker = func(status int, method, path, body string, headers ...string) (string, http.Header)

// audit asks every route that /v1/openapi.json describes for what it cannot do.
type audit struct {
	*description
	do   asker
	fill *strings.Replacer // of the parameters in a path, with what exists
}

func newAudit(t *testing.T) *audit {
	do := boxes(t)
	do(204, "POST", "/v1/actors/Box/a/pause", "")
	_, h := do(202, "POST", "/v1/actors/Box/a/tell/Add", "1")
	do(204, "POST", "/v1/actors/Box/b/pause", "") // so that nothing runs beside
	return &audit{describe(t, do), do, strings.NewReplacer(
		"{type}", "Box", "{id}", "b", "{method}", "Add", "{inv}", h.Get(v1.HeaderInvocation),
		"{key}", "n", "{entry}", "e", "{name}", "x", "{topic}", "orders",
	)}
}

// refused wants a whole problem document with the status and one of the codes.
func (a *audit) refused(t *testing.T, status int, codes []string, method, path, body string, headers ...string) http.Header {
	t.Helper()
	text, h := a.do(status, method, path, body, headers...)
	if len(body) > 40 {
		body = body[:40] + "..."
	}
	what := method + " " + path + " " + body
	if got := h.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%s: %q %s", what, got, text)
		return h
	}
	a.fits(t, what, problemAt, text)
	var p v1.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Errorf("%s: %v", what, err)
		return h
	}
	if p.Type == "" || p.Title == "" || p.Detail == "" || strings.Contains(p.Detail, "v1.") || status != 0 && p.Status != status || codes != nil && !slices.Contains(codes, string(p.Code)) {
		t.Errorf("%s: %s", what, text)
	}
	return h
}

var badRequest = []string{string(v1.CodeBadRequest)}

func TestEveryRouteRefusesOtherMethods(t *testing.T) {
	a := newAudit(t)
	takes := map[string][]string{}
	for _, o := range a.routes {
		takes[o.path] = append(takes[o.path], o.method)
	}
	for path, methods := range takes {
		for _, m := range []string{"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if slices.Contains(methods, m) {
				continue
			}
			h := a.refused(t, 405, badRequest, m, a.fill.Replace(path), "")
			for _, m := range methods {
				if !strings.Contains(h.Get("Allow"), m) {
					t.Errorf("%s: Allow: %s, without %s", path, h.Get("Allow"), m)
				}
			}
		}
	}
}

func TestEveryRouteRefusesUnknownParameters(t *testing.T) {
	a := newAudit(t)
	for _, o := range a.routes {
		if o.takesAnyQuery() {
			a.do(200, o.method, a.fill.Replace(o.path)+"?probe=1", "")
			continue
		}
		for _, query := range []string{"nonsense=1", "nonsense", "Type=Box", "type=%zz", "a;b"} {
			if o.path == "/v1/events" {
				query += "&follow=false" // taken, it would be answered for ever
			}
			// Taken, a call of an actor that is paused would be waited for.
			a.refused(t, 400, badRequest, o.method, a.fill.Replace(o.path)+"?"+query, "", "Prefer: wait=0")
		}
	}
}

func TestEveryBodyIsChecked(t *testing.T) {
	a := newAudit(t)
	const limit = 4<<20 + 64<<10
	huge := `"` + strings.Repeat("x", limit-1) + `"`
	badBody := []string{string(v1.CodeBadRequest), "bad_payload"}
	n := 0
	for _, o := range a.routes {
		if o.RequestBody == nil {
			continue
		}
		n++
		path := a.fill.Replace(o.path)
		for _, body := range []string{"{", `"half`, "\xff", "{} x", "<a/>", "nul"} {
			a.refused(t, 400, badBody, o.method, path, body)
			a.refused(t, 400, badBody, o.method, path, body, "Content-Type: text/xml; charset=\"")
		}
		a.refused(t, 413, []string{"too_large"}, o.method, path, huge)
		if o.ours() {
			for _, body := range []string{"5", "[]", `"text"`, "true", `{"nonsense": 1}`, `{} {}`} {
				a.refused(t, 400, badRequest, o.method, path, body)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d routes have bodies", n)
	}
}

// TestEveryRouteTakesAnyName puts odd names at each place of each path: they are
// served or refused, and never an error of ours.
func TestEveryRouteTakesAnyName(t *testing.T) {
	a := newAudit(t)
	odd := []string{"", "NoSuch", "a/b", "/", " ", "_", "__pawl", "ü", "日本", "\xff", "\x00", "..", "100%", "a?b#c;d", "-", "1-", "ffffffffffffffffffff-1", strings.Repeat("x", 1000)}
	for _, o := range a.routes {
		for part := range strings.SplitSeq(o.path, "/") {
			if !strings.HasPrefix(part, "{") {
				continue
			}
			for _, name := range odd {
				path := a.fill.Replace(strings.Replace(o.path, part, v1.Segment(name), 1))
				body := ""
				if o.RequestBody != nil && !o.ours() {
					body = "1"
				}
				text, h := a.do(0, o.method, path, body, "Prefer: wait=0")
				if h.Get("Content-Type") == "application/problem+json" {
					var p v1.Problem
					if err := json.Unmarshal([]byte(text), &p); err != nil || p.Status >= 500 || p.Detail == "" || p.Title == "" {
						t.Errorf("%s with %s=%q: %s", o, part, name, text)
					}
				}
			}
		}
	}
	a.do(200, "GET", "/v1/health/ready", "")
	a.do(200, "POST", "/v1/actors/Box/well/call/Add", "1")
}
