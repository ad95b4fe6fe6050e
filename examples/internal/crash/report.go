package crash

import (
	"context"
	"io"
	"strconv"
	"sync"
)

// Reporter is the child's side of the protocol. Each call is one write: when it
// returns, the line outlives this process. Safe for concurrent use.
type Reporter struct {
	from chan int // where a standby begins; of the one value that comes

	mu sync.Mutex
	w  io.Writer
}

// Ready says that the application has opened and joined.
func (r *Reporter) Ready() { r.line("ready") }

// Sent says that a unit has been submitted.
func (r *Reporter) Sent(unit int) { r.line("sent " + strconv.Itoa(unit)) }

// Again says that an attempt after the first has begun, for a unit.
func (r *Reporter) Again(unit int) { r.line("again " + strconv.Itoa(unit)) }

// Answered says that the outcome of a unit has come.
func (r *Reporter) Answered(unit int) { r.line("answered " + strconv.Itoa(unit)) }

// End says that every unit is answered.
func (r *Reporter) End() { r.line("end") }

// StopAt says that the child has come to the point, and waits there to be
// killed if the job says so.
func (r *Reporter) StopAt(ctx context.Context, job Job, point string) {
	if job.StopAt != point {
		return
	}
	r.line("at " + point)
	<-ctx.Done()
}

// line writes one line. A failed write means that the parent is gone, and this
// process is about to end by that.
func (r *Reporter) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.w, text+"\n")
}
