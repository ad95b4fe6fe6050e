package v1_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/pawl-go/pawl/internal/v1"
)

// TestHalfClosed: a client that closes its half after its request gets the answer, also
// of a call that ends much later.
func TestHalfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := asking(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Minute):
				_, _ = io.WriteString(w, "at last")
			case <-r.Context().Done():
				http.Error(w, r.Context().Err().Error(), http.StatusInternalServerError)
			}
		})
		defer c.Close()
		if err := c.closeWrite(); err != nil {
			t.Fatal(err)
		}
		if resp, text := get(t, c, ""); resp.StatusCode != 200 || text != "at last" {
			t.Errorf("%s %s", resp.Status, text)
		}
	})
}

// TestGone: one that has gone looks the same, and is waited for two minutes; not by a
// server that is closed.
func TestGone(t *testing.T) {
	for name, want := range map[string]time.Duration{"gone": 2 * time.Minute, "closed": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, ended := time.Now(), make(chan time.Time, 1) //nolint:forbidigo // the bubble's
				l := make(pipes)
				s := v1.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					ended <- time.Now() //nolint:forbidigo // the bubble's
				}), slog.New(slog.DiscardHandler))
				c := connect(l)
				if _, err := io.WriteString(c, question); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				_ = c.Close()
				if name == "closed" {
					time.Sleep(want) //nolint:forbidigo // the bubble's
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				if took := (<-ended).Sub(began); took != want {
					t.Errorf("it was waited for %v, want %v", took, want)
				}
				if name == "gone" {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

const question = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// duplex is a connection in memory of which one half can be closed.
type duplex struct {
	net.Conn // reads
	w        net.Conn
}

func (d *duplex) Write(p []byte) (int, error) { return d.w.Write(p) }
func (d *duplex) closeWrite() error           { return d.w.Close() }

func (d *duplex) Close() error {
	_ = d.w.Close()
	return d.Conn.Close()
}

// asking serves h, and gives a connection on which it was asked something.
func asking(t *testing.T, h http.HandlerFunc) *duplex {
	l := make(pipes)
	s := v1.Serve(l, h, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	up, asked := net.Pipe()
	answered, down := net.Pipe()
	l <- &duplex{Conn: asked, w: answered}
	c := &duplex{Conn: down, w: up}
	if _, err := io.WriteString(c, question); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c
}
