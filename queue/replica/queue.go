package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

// Queue is a replicated queue at this host. All methods may be called concurrently.
//
// Who holds mu owns the core: the goroutine run, or who has something for it and is alone
// (deal.go). It takes the events from the inbox, a whole batch at a time, and carries
// out what the core wants. What takes long has goroutines of its own, which answer through the inbox: keep (the file of
// promises), flush, sum (checksums and retention), and one stream for each peer.
//
// Invariants:
//
//  1. The core hears of every entry that was appended here before it hears of
//     anything that happened later: appends are noted under mu, and run tells
//     what was noted first.
//  2. What is in the queue was either told to the core or is noted in fresh.
//  3. The queue is barred unless the core has said Unlocked, and not Locked since.
type Queue struct {
	host *Host
	cfg  QueueConfig
	in   *inbox
	dir  queue.Dir

	promises promises
	chain    chain
	keeper   jobs[core.WriteHard]
	flusher  jobs[core.Flush]
	sums     jobs[sumJob]
	streams  map[HostID]*stream
	results  results
	// automatic is nil unless the configuration asks for it.
	automatic *automatic

	// over: the replica has ended.
	over atomic.Bool
	// lease is when it ends, since opened.
	lease  atomic.Int64
	opened time.Time
	// telling wakes run when it is time for news.
	telling *time.Timer

	mu struct {
		sync.Mutex
		core *core.Replica
		q    *queue.Queue
		// life counts how often the queue was opened, which it is anew when
		// entries are set aside.
		life     uint64
		role     core.Role
		unlocked bool // by the core
		tenure   *Tenure
		barred   bool  // the queue is
		fresh    []run // appended, and not told to the core yet
		mine     run   // appended in the last epoch of this host
		counted  queue.Index
		released queue.Index
		last     queue.Index // that waiters were told of
		asides   []cutRange
		appends  waiters // appends that are held back, by released
		counting waiters // WaitReplicated, by counted
		changed  chan struct{}
		closing  bool
		fail     error // why nothing goes on
		// Of what is dealt with now, see deal.
		spare    []envelope
		posted   []*conn       // frames wait there to be pushed
		news     []core.Send   // of what counts, to be told soon
		alone    bool          // streams are served by who deals with it
		streamed []core.Stream // and these are they
	}
	started   bool
	unsummed  string          // what sum has complained of last
	holdBack  *queue.Position // of retention
	closed    chan struct{}   // the core has closed, or the replica has ended
	closeOnce sync.Once
	quit      context.Context
	stopAll   context.CancelFunc
	owned     sync.WaitGroup
}

// run is a dense run of entries of this host.
type run struct {
	first, last queue.Index
	bytes       uint64
}

// openQueue opens the queue and makes its core; start begins to drive it.
func openQueue(h *Host, cfg QueueConfig) (*Queue, error) {
	fail := func(err error) (*Queue, error) {
		err = fmt.Errorf("open replicated queue %s: %w", cfg.Name, err)
		if errors.Is(err, errBlock) {
			err = fmt.Errorf("%w; look at it with `pawl queue verify`; if other hosts have the queue whole, `pawl queue replication repair %s`, and it is copied anew", err, cfg.Dir)
		}
		return nil, err
	}
	if cfg.Queue.FS == nil {
		cfg.Queue.FS = queue.OS()
	}
	dir, err := cfg.Queue.FS.OpenDir(cfg.Dir, true)
	if err != nil {
		return fail(err)
	}
	q := &Queue{
		host: h, cfg: cfg, in: newInbox(), dir: dir, streams: map[HostID]*stream{},
		promises: promises{dir: dir, host: h.cfg.Self, boot: h.cfg.BootID()}, closed: make(chan struct{}), opened: time.Now(),
		telling: time.NewTimer(newsWait),
	}
	q.chain.dir = dir
	q.keeper.init()
	q.flusher.init()
	q.sums.init()
	q.quit, q.stopAll = context.WithCancel(h.ctx)
	if err := q.begin(); err != nil {
		if q.mu.q != nil {
			err = errors.Join(err, q.mu.q.Close())
		}
		return fail(errors.Join(err, dir.Close()))
	}
	if cfg.Automatic {
		if q.automatic, err = newAutomatic(q); err != nil {
			return fail(errors.Join(err, q.mu.q.Close(), dir.Close()))
		}
	}
	for _, id := range cfg.Replica.Hosts {
		if id != h.cfg.Self {
			q.streams[id] = newStream(q, id)
		}
	}
	return q, nil
}

// begin opens everything that is on the disk.
func (q *Queue) begin() error {
	hard, sameBoot, err := q.promises.load()
	if err != nil {
		return err
	}
	if err := q.chain.load(); err != nil {
		return err
	}
	log, err := q.reopen()
	if err != nil {
		return err
	}
	survived := sameBoot
	if rec := q.mu.q.Recovered(); rec != nil {
		survived = survived && neverPublished(q.dir, rec)
	}
	q.mu.core, err = core.New(q.cfg.Replica, core.Start{
		Hard: hard, Log: log, Flushed: q.mu.q.Durable(), Survived: survived, Now: time.Now(),
	})
	if err != nil {
		return err
	}
	s := q.mu.core.Status()
	q.mu.counted, q.mu.released, q.mu.last = s.Counted, s.Released, q.mu.q.Last()
	return nil
}

// reopen opens the queue, barred, and describes it.
func (q *Queue) reopen() (core.Log, error) {
	q.mu.life++
	cfg, life := q.cfg.Queue, q.mu.life
	told := cfg.OnFile
	cfg.OnFile = func(e queue.FileEvent) {
		if e.Kind == queue.FileDeleted {
			q.sums.put(sumJob{released: e.Cycle, life: life})
		}
		if told != nil {
			told(e)
		}
	}
	inner, err := queue.Open(q.cfg.Dir, cfg)
	if err != nil {
		return core.Log{}, err
	}
	q.mu.q = inner
	if err := inner.Bar(q.quit, "this host is not the source"); err != nil {
		return core.Log{}, err
	}
	q.mu.barred = true
	if cfg.Retain != (queue.Retention{}) {
		if q.holdBack, err = inner.OpenPosition(positionName, queue.PositionOptions{HoldBack: true}); err != nil {
			return core.Log{}, err
		}
	}
	return q.chain.open(inner)
}

// positionName is that of the position with which retention is held back.
const positionName = "replica"

// neverPublished says whether what Open set aside is an append that the death of
// the process cut short: nobody was told of it, so nothing is lost.
func neverPublished(dir queue.Dir, rec *queue.Recovery) bool {
	if len(rec.Files) == 0 {
		return false
	}
	f, err := dir.Open(rec.Files[0], false)
	if err != nil {
		return false
	}
	defer f.Close()
	var word [4]byte
	n, _ := f.ReadAt(word[:], 0)
	return n == len(word) && word == [4]byte{}
}

func (q *Queue) start() {
	q.started = true
	q.owned.Go(q.run)
	q.owned.Go(q.keep)
	q.owned.Go(q.flush)
	q.owned.Go(q.sum)
	for _, s := range q.streams {
		q.owned.Go(s.run)
	}
	if q.automatic != nil {
		q.owned.Go(q.automatic.run)
	}
}

// Name is what the hosts call the queue.
func (q *Queue) Name() string { return q.cfg.Name }

// Dir is its directory at this host.
func (q *Queue) Dir() string { return q.cfg.Dir }

// deliver hands the core an event.
func (q *Queue) deliver(ev core.Event) { q.in.put(envelope{event: ev}) }

// run owns the core.
func (q *Queue) run() {
	interval := min(q.cfg.Replica.HeartbeatInterval, q.cfg.Replica.LeaseTimeout)
	t := time.NewTicker(interval / 4)
	defer t.Stop()
	defer q.telling.Stop()
	for {
		news := false
		select {
		case <-q.in.kicked:
		case <-q.telling.C:
			news = true
		case <-t.C:
			q.in.put(envelope{event: core.Tick{Now: time.Now()}})
		case <-q.quit.Done():
			return
		}
		q.mu.Lock()
		if news {
			q.tellNews(0)
		}
		if !q.deal() {
			return
		}
	}
}

// take deals with the events that wait. mu is held.
func (q *Queue) take() {
	list := q.in.take(q.mu.spare)
	q.tellFresh()
	for _, e := range list {
		if q.mu.fail != nil {
			break
		}
		if e.conn != nil {
			q.postUpdate(e.conn, e.frame)
		}
		switch e.event.(type) {
		case core.Flushed:
			q.step(core.Flushed{Through: q.mu.q.Durable()}, nil)
		case core.Tick:
			q.step(e.event, nil)
			q.tended()
		default:
			if e.life == 0 || e.life == q.mu.life {
				q.step(e.event, e.pieces)
			}
		}
		giveBody(e.body)
	}
	clear(list)
	q.mu.spare = list
	q.publish()
}

// tellFresh tells the core what was appended. mu is held.
func (q *Queue) tellFresh() {
	for _, r := range q.mu.fresh {
		q.step(core.Appended{First: r.first, Last: r.last, Bytes: r.bytes}, nil)
	}
	q.mu.fresh = q.mu.fresh[:0]
}

// step gives the core an event, and the answers to what it wants. mu is held.
func (q *Queue) step(ev core.Event, pieces []piece) {
	for ev != nil && q.mu.fail == nil {
		effects := q.mu.core.Step(ev)
		ev = nil
		for _, e := range effects {
			if answer := q.do(e, pieces); answer != nil {
				ev = answer
			}
		}
	}
}

// tended does what is done at a steady pace. mu is held.
func (q *Queue) tended() {
	q.broadcast()
	q.step(core.Flushed{Through: q.mu.q.Durable()}, nil)
	if queue.Index(q.chain.known.Load()).Cycle() < q.mu.q.Last().Cycle() {
		q.sums.put(sumJob{})
	}
	if q.holdBack == nil || q.mu.fail != nil {
		return
	}
	s := q.mu.core.Status()
	keep := s.Keep + 1
	keep = min(keep, max(queue.Index(q.chain.known.Load()), q.mu.q.First()))
	if q.cfg.HoldForSinks {
		for _, row := range s.Table.Sinks {
			keep = min(keep, row.Appended+1)
		}
	}
	if keep > q.holdBack.Index() {
		if err := q.holdBack.Set(keep); err != nil {
			q.event(Event{Kind: core.NoticeStorage, Text: "retention stays held back", Err: err})
		}
	}
}

// publish wakes those whose time has come. mu is held.
func (q *Queue) publish() {
	q.renew()
	q.mu.appends.wake(q.mu.released)
	q.mu.counting.wake(q.mu.counted)
	if last := q.mu.q.Last(); last != q.mu.last {
		q.mu.last = last
		q.broadcast()
	}
}

// broadcast wakes the tailers. mu is held.
func (q *Queue) broadcast() {
	if q.mu.changed != nil {
		close(q.mu.changed)
		q.mu.changed = nil
	}
}

// change is closed when there may be something new for tailers. mu is held.
func (q *Queue) change() <-chan struct{} {
	if q.mu.changed == nil {
		q.mu.changed = make(chan struct{})
	}
	return q.mu.changed
}

// failed ends the replica: its disk cannot be relied on. mu is held.
func (q *Queue) failed(err error) {
	if q.mu.fail != nil {
		return
	}
	q.event(Event{Kind: EventFailed, Text: "the replica has ended", Err: err})
	q.end(&FailedError{Queue: q.cfg.Name, Err: err})
	q.over.Store(true)
	if q.host.ctx.Err() == nil {
		q.host.owned.Go(q.host.dropQueue)
	}
}

// end lets nobody wait any more. mu is held.
func (q *Queue) end(err error) {
	q.mu.fail = err
	q.mu.unlocked = false
	q.lease.Store(0)
	q.endTenure()
	q.in.close()
	q.mu.appends.fail(err)
	q.mu.counting.fail(err)
	q.results.fail(err)
	q.broadcast()
	q.closeOnce.Do(func() { close(q.closed) })
}

func (q *Queue) event(e Event) {
	e.Queue = q.cfg.Name
	q.host.tell.tell(e)
}

// beginClose has the core write down that nothing can be lost.
func (q *Queue) beginClose() {
	q.mu.Lock()
	q.mu.closing = true
	q.mu.Unlock()
	q.deliver(core.Close{})
}

// awaitClose waits until the core has closed, or cannot.
func (q *Queue) awaitClose() error {
	if !q.started {
		return nil
	}
	<-q.closed
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.fail != nil && !errors.Is(q.mu.fail, queue.ErrClosed) {
		return q.mu.fail
	}
	return nil
}

// stop closes everything, once nobody delivers any more.
func (q *Queue) stop() error {
	q.stopAll()
	q.in.close()
	q.owned.Wait()
	var err error
	if q.holdBack != nil {
		err = q.holdBack.Close()
	}
	return errors.Join(err, q.mu.q.Close(), q.dir.Close())
}
