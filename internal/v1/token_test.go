package v1_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "github.com/pawl-go/pawl/internal/v1"
)

func TestTokenIsAskedFor(t *testing.T) {
	h := v1.Protect(face(t, newFake()), "secret")
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "secret": 401, "Bearer secret": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/components", nil)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", header, w.Code, want)
		}
		if want == 401 && problem(t, w).Code != v1.CodeUnauthorized {
			t.Errorf("%q: %s", header, w.Body)
		}
	}
	if w := ask(h, "GET", "/v1/health/live", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
}

func TestOffLoopbackIsRefusedBare(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		if l, err := v1.ListenTCP(t.Context(), address, false); err == nil {
			l.Close()
			t.Errorf("%s is listened on without a token", address)
		}
	}
	l, err := v1.ListenTCP(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
