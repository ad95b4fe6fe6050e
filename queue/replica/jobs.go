package replica

import (
	"errors"
	"sync"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// jobs is what one goroutine has to do, in order.
type jobs[T any] struct {
	mu struct {
		sync.Mutex
		list []T
	}
	kick chan struct{} // one slot
}

func (j *jobs[T]) init() { j.kick = make(chan struct{}, 1) }

func (j *jobs[T]) put(job T) {
	j.mu.Lock()
	j.mu.list = append(j.mu.list, job)
	j.mu.Unlock()
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// take waits for jobs, and gives all that are there; nil when done is closed.
func (j *jobs[T]) take(done <-chan struct{}) []T {
	for {
		select {
		case <-j.kick:
		case <-done:
			return nil
		}
		if list := j.all(); len(list) > 0 {
			return list
		}
	}
}

// all gives the jobs that are there, and does not wait.
func (j *jobs[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.mu.list
	j.mu.list = nil
	return list
}

// inner is the queue as it is open now.
func (q *Queue) inner() *queue.Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.q
}

// giveUp ends the replica from a goroutine beside run.
func (q *Queue) giveUp(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed(err)
}

// keep writes the file of promises. What has come while a write was under way is
// written in one, for the last one says it all.
func (q *Queue) keep() {
	for {
		list := q.keeper.take(q.quit.Done())
		if list == nil {
			return
		}
		last := list[len(list)-1]
		if err := q.promises.store(last.Hard); err != nil {
			// What is on the disk now is not known, so nothing may be promised.
			q.giveUp(err)
			return
		}
		q.deliver(core.HardWritten{Seq: last.Seq})
	}
}

// flush flushes what the core asks for.
func (q *Queue) flush() {
	for {
		list := q.flusher.take(q.quit.Done())
		if list == nil {
			return
		}
		inner := q.inner()
		err := inner.WaitDurable(q.quit, list[len(list)-1].Through)
		if failed, ok := errors.AsType[*queue.FlushError](err); ok {
			q.giveUp(failed)
			return
		}
		// Any other error: the entry was set aside meanwhile, or the host closes.
		// How far it really is, run asks the queue that is open then.
		q.deliver(core.Flushed{})
	}
}

// sumJob is work for the chain: an AskSum, a cycle that retention has deleted, or
// neither: to make records for the cycles that are over.
type sumJob struct {
	ask      core.AskSum
	released uint32
	life     uint64
}

// sum reads cycles, for their checksums.
func (q *Queue) sum() {
	for {
		list := q.sums.take(q.quit.Done())
		if list == nil {
			return
		}
		for _, job := range list {
			q.sumUp(job)
		}
	}
}

func (q *Queue) sumUp(job sumJob) {
	inner := q.inner()
	switch {
	case job.ask.Token != 0:
		sum, err := q.chain.sumTo(inner, job.ask.Index)
		q.tellReleased(inner, err)
		q.deliver(core.SumIs{Token: job.ask.Token, Sum: sum, Err: err})
	case job.released != 0:
		if r, ok := q.chain.end(job.released); ok {
			q.in.put(r.released(job.life))
		}
	default:
		err := q.chain.catchUp(inner)
		if err == nil || errors.Is(err, queue.ErrClosed) {
			return
		}
		if text := err.Error(); text != q.unsummed { // once, and not at every tick
			q.unsummed = text
			q.event(Event{Kind: core.NoticeDamaged, Text: "a cycle that is over cannot be summed up, so retention keeps it", Err: err})
		}
	}
}

// released tells that retention has deleted the cycle, and all before it.
func (r *cycleRecord) released(life uint64) envelope {
	return envelope{event: core.Released{Through: r.last(), Sum: r.Sum}, life: life}
}

// tellReleased tells the core what retention has deleted, before it hears of an
// error that comes of that: the news of the file may be under way still.
func (q *Queue) tellReleased(inner *queue.Queue, err error) {
	if !errors.Is(err, queue.ErrReleased) {
		return
	}
	r, ok := q.chain.gone(inner)
	q.mu.Lock()
	life, same := q.mu.life, q.mu.q == inner
	q.mu.Unlock()
	if ok && same {
		q.in.put(r.released(life))
	}
}
