package local

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-go/pawl/engine"
)

// childDir names the data of a child process that a test kills: the test
// binary calls itself.
const childDir = "PAWL_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := countForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// countForEver adds one to a counter, call by call, and prints each value once
// it is committed.
func countForEver(dir string) error {
	e, err := engine.Open(context.Background(), "local:"+dir+"?"+os.Getenv("PAWL_TEST_CHILD_PARAMETERS"), engine.Options{App: "test"})
	if err != nil {
		return err
	}
	p := newProbe()
	s, err := e.Join(context.Background(), engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}}}, p)
	if err != nil {
		return err
	}
	a := engine.Actor{Type: "A", ID: "1"}
	n := 0
	v, ok, err := s.Lookup(context.Background(), a, engine.Key{Cell: "n"})
	if err != nil {
		return err
	}
	if ok {
		fmt.Sscan(string(v), &n)
	}
	fmt.Fprintln(os.Stdout, "begins", n)
	for {
		n++
		r := call(s, "A", "1")
		if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}}); err != nil {
			return err
		}
		at, err := s.Finish(attempt(r, 1), &engine.Effects{Writes: []engine.Write{put("n", fmt.Sprint(n))}}, value(fmt.Sprint(n)))
		if err != nil {
			return err
		}
		if err := s.Wait(context.Background(), at); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, n)
		p.mu.Lock()
		p.deliveries = nil
		clear(p.responses)
		p.mu.Unlock()
	}
}
