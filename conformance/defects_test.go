package conformance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/rig"
)

// TestCompletedIsNotRunAgain: a call completes when its caller is dead, and then its own
// host dies. Its completion is recorded all the same; KAR runs it again.
func TestCompletedIsNotRunAgain(t *testing.T) {
	n := newTown(t)
	caller, _ := n.pair("caller", "Peer")
	callee, _ := n.pair("callee", "Slow")
	_, front := n.pair("front", "Echo")
	id := promise(t, front, "/actor/Peer/p/call/once", `["child","gate"]`)
	n.w.Notes("child", 1)
	caller.Kill()
	n.w.Open("gate")
	n.w.Notes("child", 2)
	if got := post(t, front, "/actor/Slow/child/call/run", `["behind"]`); got != (answer{200, `{"value":"behind"}`}) {
		t.Errorf("behind it: %+v", got)
	}
	callee.Kill()
	n.pair("callee again", "Slow")
	n.pair("caller again", "Peer")
	if got := post(t, front, "/await", id); got != (answer{200, `{"value":"tried again"}`}) {
		t.Errorf("the caller: %+v", got)
	}
	if got := post(t, front, "/actor/Slow/child/call/run", `["last"]`); got != (answer{200, `{"value":"last"}`}) {
		t.Errorf("behind all that: %+v", got)
	}
	if got := texts(n.w.Notes("child", 2)); got != `["begin" "end"]` {
		t.Errorf("the call was run again: %s", got)
	}
	n.judge()
}

// mostPause is how long a call may take while others join and leave, on a machine that is
// busy with other tests; KAR stops all sending for seconds, and longer the more it retains.
const mostPause = 30 * time.Second

// TestJoinsAndLeavesPauseNobody: calls are answered, of an actor that stays and of new
// ones, while components come and go. A new actor may be placed on a component whose
// application is still starting, and waits for that; the one that stays does not.
func TestJoinsAndLeavesPauseNobody(t *testing.T) {
	n := newTown(t)
	n.pair("host", "Echo")
	_, front := n.pair("front", "Lively")
	if got := post(t, front, "/actor/Echo/stays/call/value", `[0]`); got != (answer{200, `{"value":0}`}) {
		t.Fatalf("%+v", got)
	}
	done := make(chan struct{})
	var calling sync.WaitGroup
	var longest time.Duration
	calls := 0
	calling.Go(func() {
		for ; ; calls++ {
			select {
			case <-done:
				return
			default:
			}
			to, start := "stays", time.Now() //nolint:forbidigo // a measurement
			if calls%10 == 9 {
				to = fmt.Sprint("new-", calls)
			}
			got := post(t, front, "/actor/Echo/"+to+"/call/value", fmt.Sprintf("[%d]", calls))
			if to == "stays" {
				longest = max(longest, time.Since(start)) //nolint:forbidigo // a measurement
			}
			if got != (answer{200, fmt.Sprintf(`{"value":%d}`, calls)}) {
				t.Errorf("call %d of %s: %+v", calls, to, got)
				return
			}
		}
	})
	for i := range 3 {
		guest, _ := n.pair(fmt.Sprint("guest ", i), "Echo,Counter")
		guest.Signal(syscall.SIGTERM)
		if code := guest.Wait(); code != 128+int(syscall.SIGTERM) && code != 0 {
			t.Errorf("guest %d: exit code %d", i, code)
		}
	}
	close(done)
	calling.Wait()
	t.Logf("%d calls; of the actor that stays the longest took %v", calls, longest)
	if longest > mostPause {
		t.Errorf("a call of an actor that stays took %v", longest)
	}
	n.judge()
}

// TestManyAtOnceIsOneStep: kill -9 between many updates; all of one are there, or none.
func TestManyAtOnceIsOneStep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w, data := rig.NewWitness(t), t.TempDir()
	acknowledged := 0
	for range 3 {
		p, app := aloneOn(t, w, data)
		whole(t, app, acknowledged)
		kill := r.IntN(40)
		for i := range 40 {
			n := acknowledged + 1
			if i == kill { // while it is asked for the next one
				go func() { _ = syscall.Kill(p.PID(), syscall.SIGKILL) }()
			}
			body := fmt.Sprintf(`{"updates":{"a":%[1]d,"b":%[1]d,"new%[1]d":1},"submapupdates":{"m":{"x":%[1]d},"k":{"y":%[1]d}},"removals":["new%[2]d"],"submapremovals":{"m":["none"]}}`, n, n-1)
			res, err := http.Post(app.KAR()+"/actor/Store/s/state", "application/json", strings.NewReader(body)) //nolint:noctx // a test
			if err != nil {
				break // it is dead
			}
			status := res.StatusCode
			res.Body.Close()
			if status != http.StatusOK {
				break
			}
			acknowledged = n
		}
		_ = syscall.Kill(p.PID(), syscall.SIGKILL) // it may be dead
		p.Wait()
		rig.Gone(t, app.PID)
	}
	_, app := aloneOn(t, w, data)
	whole(t, app, acknowledged)
}

// whole wants the state to be that of one update, the last that was acknowledged or the
// next.
func whole(t *testing.T, app rig.App, acknowledged int) {
	t.Helper()
	var got struct{ A int }
	all := request(t, http.DefaultClient, http.MethodGet, app.KAR()+"/actor/Store/s/state", "")
	if err := json.Unmarshal([]byte(all.body), &got); err != nil {
		t.Fatalf("%+v: %v", all, err)
	}
	n := got.A
	if n != acknowledged && n != acknowledged+1 {
		t.Errorf("%d after %d was acknowledged: %s", n, acknowledged, all.body)
	}
	want := fmt.Sprintf(`{"a":%[1]d,"b":%[1]d,"k":{"y":%[1]d},"m":{"x":%[1]d},"new%[1]d":1}`, n)
	if n == 0 {
		want = `{}`
	}
	if all.body != want {
		t.Errorf("%s is half an update, want %s", all.body, want)
	}
}
