package philosophers

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWaiter tells the waiter of meals, and sees what it finds wrong. Ann and Bob
// share fork 1.
func TestWaiter(t *testing.T) {
	forks := map[string]string{"ann": `["0","1"]`, "bob": `["1","2"]`}
	for _, c := range []struct {
		name, told string // as in "begins ann 1", with commas between
		again      int
		wrong      string // a part of the complaint; empty for none
	}{
		{"one after the other", "begins ann 1,ends ann 1,begins bob 1,ends bob 1", 0, ""},
		{"a fork in two hands", "begins ann 1,begins bob 1,ends ann 1,ends bob 1", 0, "bob eats with fork 1, with which ann eats"},
		{"a meal begun again", "begins ann 1,begins ann 1,ends ann 1,begins bob 1,ends bob 1", 1, ""},
		{"an end told twice", "begins ann 1,ends ann 1,begins bob 1,ends ann 1,ends bob 1", 0, ""},
		{"a beginning told late", "begins ann 1,ends ann 1,begins bob 1,begins ann 1,ends bob 1", 1, ""},
		{"a meal left out", "begins ann 1,ends ann 1,begins bob 2,ends bob 2", 0, "bob begins meal 2 after meal 0"},
		{"a meal missing", "begins ann 1,ends ann 1,begins bob 1", 0, "the waiter saw bob eat 0 meals, not 1"},
		{"a meal too many", "begins ann 1,ends ann 1,begins bob 1,ends bob 1,begins bob 2,ends bob 2", 0, "bob eat 2 meals, not 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWaiter()
			for line := range strings.SplitSeq(c.told, ",") {
				var what, who string
				var n int
				if _, err := fmt.Sscan(line, &what, &who, &n); err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(`{"who":%q,"forks":%s,"meal":%d}`, who, forks[who], n)
				w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/"+what, strings.NewReader(body)))
			}
			if n := w.repeats(); n != c.again {
				t.Errorf("%d meals begun again, want %d", n, c.again)
			}
			got := strings.Join(w.complaints([]string{"ann", "bob"}, 1), "; ")
			if c.wrong == "" && got != "" || !strings.Contains(got, c.wrong) {
				t.Errorf("complaints: %q, want %q", got, c.wrong)
			}
		})
	}
}
