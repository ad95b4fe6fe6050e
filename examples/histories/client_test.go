package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/examples/histories/history"
)

// answers is a server that gives one answer after the other.
type answers []func(*http.Request) (*http.Response, error)

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	first := (*a)[0]
	*a = (*a)[1:]
	return first(r)
}

func says(status int, invocation, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Pawl-Invocation": {invocation}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

// dies is a server that is killed with the request on its way.
func dies(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// A key has one invocation, and one outcome, whoever asks and when: the clients
// notice if not.
func TestOneOutcomeUnderOneKey(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers answers
		want    string
	}{
		{"the same again", answers{says(200, "a", "5"), says(200, "a", "5")}, ""},
		{"dead when asked again", answers{says(200, "a", "5"), dies}, ""},
		{"another outcome", answers{says(200, "a", "5"), says(200, "a", "6")}, "two outcomes under the key k: 5 and 6"},
		{"another invocation", answers{says(200, "a", "5"), says(200, "b", "5")}, "two invocations: a and b"},
		{"accepted, and forgotten", answers{says(202, "a", ""), says(404, "", `{"code":"not_found"}`)}, "refused: 404 not_found"},
		{"waited for twice", answers{says(202, "a", ""), says(202, "a", ""), says(200, "a", "5"), says(200, "a", "5")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &lives{last: &life{number: 1, door: &door{http: &http.Client{Transport: &c.answers}}}}
			cl := &client{work: &work{lives: l, recorder: history.NewRecorder()}}
			q := &question{deed: &deed{kind: history.Add, on: "Counter", method: "Add"}, id: "x", key: "k"}
			o := &history.Operation{Key: "Counter/x", Kind: history.Add, Arg: 1}
			value, err := cl.insist(t.Context(), q, o)
			if err == nil {
				err = cl.again(t.Context(), q, o, value)
			}
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if len(c.answers) > 0 {
				t.Errorf("%d answers were not asked for", len(c.answers))
			}
		})
	}
}
