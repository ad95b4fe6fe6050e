package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

const chainName = "replica.chain"

// chain knows the running checksum and the control entries at the end of each
// cycle that is over, so that nobody needs to read those again; and, of what
// retention has released, the checksum that the kept entries begin with. It is kept
// in a file, a line a cycle, that is a hint: without it cycles are read again, and
// what lies before the first kept one counts as unknown, which at worst makes a
// host copy everything anew.
type chain struct {
	dir queue.Dir
	// known is the first index that has no record yet: nothing from it on may be
	// deleted.
	known atomic.Uint64
	// listed, when set, is called before cycles that were listed are read: tests
	// release some there.
	listed func()
	mu     struct {
		sync.Mutex               // held while cycles are read, by the one goroutine that does
		q          *queue.Queue  // entries of another one concern nobody any more
		records    []cycleRecord // of consecutive cycles
		size       int64         // of the file
		dirty      bool          // it must be written anew
	}
}

// cycleRecord is a line of the file: a cycle at its end. In the first line the
// cycle may be one that is not here, behind which the queue was started.
type cycleRecord struct {
	Cycle    uint32     `json:"cycle"`
	Salt     uint64     `json:"salt,omitempty"`
	Entries  uint32     `json:"entries"`
	Count    uint64     `json:"count"` // of entries of the queue, up to here
	Sum      uint64     `json:"sum"`   // running checksum up to here
	Epoch    core.Epoch `json:"epoch"` // of the last entry
	Controls []core.Row `json:"controls,omitempty"`
}

func (r *cycleRecord) last() queue.Index { return queue.NewIndex(r.Cycle, r.Entries-1) }

func (r *cycleRecord) base() core.Base {
	return core.Base{Index: r.last(), Count: r.Count, Sum: r.Sum, Epoch: r.Epoch}
}

// load reads the file, up to the first line that is not right.
func (c *chain) load() error {
	b, err := readAll(c.dir, chainName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", chainName, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.size = int64(len(b))
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		body, ok := uncheck(line)
		var r cycleRecord
		if !whole || !ok || json.Unmarshal(body, &r) != nil || r.Entries == 0 ||
			len(c.mu.records) > 0 && r.Cycle != c.mu.records[len(c.mu.records)-1].Cycle+1 {
			c.mu.dirty = true
			break
		}
		c.mu.records = append(c.mu.records, r)
		b = rest
	}
	return nil
}

// open makes the chain that of a queue, and describes the queue to the core.
func (c *chain) open(q *queue.Queue) (core.Log, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.q = q
	var l core.Log
	err := whileReleased(q, func() (err error) {
		l, err = c.describe(q)
		return err
	})
	return l, err
}

// whileReleased reads cycles, and does so again when retention has deleted some
// meanwhile, for what was listed and what was read may not be the same then.
func whileReleased(q *queue.Queue, read func() error) error {
	for {
		first := q.First().Cycle()
		err := read()
		if err != nil && !errors.Is(err, queue.ErrReleased) || q.First().Cycle() == first {
			return err
		}
	}
}

// describe is open, once. mu is held.
func (c *chain) describe(q *queue.Queue) (core.Log, error) {
	cycles := slices.DeleteFunc(q.Cycles(), func(ci queue.CycleInfo) bool { return ci.Entries == 0 })
	if c.listed != nil {
		c.listed()
	}
	if len(cycles) == 0 {
		var l core.Log
		if n := len(c.mu.records); n > 0 {
			l.Base = c.mu.records[n-1].base()
			c.keepFrom(n - 1)
		}
		return l, nil
	}
	if err := c.fit(q, cycles); err != nil {
		return core.Log{}, err
	}
	if err := c.extendOnce(q); err != nil {
		return core.Log{}, err
	}
	l := core.Log{Base: c.base(cycles[0].Number)}
	for _, ci := range cycles {
		l.Runs = append(l.Runs, core.Run{First: ci.First, Last: ci.Last})
	}
	for _, r := range c.mu.records {
		if r.Cycle >= cycles[0].Number {
			l.Controls = append(l.Controls, r.Controls...)
		}
	}
	at := cycleRecord{}
	live := cycles[len(cycles)-1]
	err := readCycle(q, live.Number, live.Last, &at)
	l.Controls = append(l.Controls, at.Controls...)
	return l, err
}

// fit drops the records that do not speak of the cycles that are there. The one
// before the first cycle stays: it is the base.
func (c *chain) fit(q *queue.Queue, cycles []queue.CycleInfo) error {
	first := cycles[0].Number
	records := c.mu.records
	if k := slices.IndexFunc(records, func(r cycleRecord) bool { return r.Cycle+1 == first }); k >= 0 {
		c.keepFrom(k)
	} else if len(records) > 0 && records[0].Cycle != first {
		c.cutTo(0)
	}
	for k, r := range c.mu.records {
		if r.Cycle < first {
			continue
		}
		n := int(r.Cycle - first)
		if n >= len(cycles)-1 { // the last one is being written
			c.cutTo(k)
			break
		}
		h, err := q.Head(r.Cycle)
		if err != nil {
			return err
		}
		if h.Salt != r.Salt || cycles[n].Entries != r.Entries {
			c.cutTo(k)
			break
		}
	}
	return nil
}

// base is what lies before a cycle. When nobody knows, it is a history of its own
// that no other host has.
func (c *chain) base(first uint32) core.Base {
	for _, r := range c.mu.records {
		if r.Cycle+1 == first {
			return r.base()
		}
	}
	if first == 1 {
		return core.Base{}
	}
	return core.Base{Index: queue.NewIndex(first-1, math.MaxUint32)}
}

// keepFrom forgets the records before the k-th; the file may keep them.
func (c *chain) keepFrom(k int) {
	c.mu.records = c.mu.records[k:]
	if k > 1024 {
		c.mu.dirty = true
	}
}

// cutTo forgets the records from the k-th on.
func (c *chain) cutTo(k int) {
	if k < len(c.mu.records) {
		c.mu.records = slices.Clip(c.mu.records[:k])
		c.mu.dirty = true
	}
}

// cut forgets what is above an index: it was set aside.
func (c *chain) cut(above queue.Index) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := slices.IndexFunc(c.mu.records, func(r cycleRecord) bool { return r.last() > above })
	if k >= 0 {
		c.cutTo(k)
	}
	return c.write(nil)
}

// restart forgets everything but the entry behind which the queue goes on.
func (c *chain) restart(b core.Base) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.records = nil
	if b.Index != 0 {
		c.mu.records = []cycleRecord{{
			Cycle: b.Index.Cycle(), Entries: b.Index.Seq() + 1, Count: b.Count, Sum: b.Sum, Epoch: b.Epoch,
		}}
	}
	c.mu.dirty = true
	return c.write(nil)
}

// extend reads the cycles that are over and have no record. mu is held.
func (c *chain) extend(q *queue.Queue) error {
	return whileReleased(q, func() error { return c.extendOnce(q) })
}

func (c *chain) extendOnce(q *queue.Queue) error {
	first, last := q.First(), q.Last()
	if last == 0 || c.mu.q != q {
		return nil
	}
	cycle := first.Cycle()
	if n := len(c.mu.records); n > 0 && c.mu.records[n-1].Cycle+1 < cycle {
		c.cutTo(0) // what lies between was released unread
	}
	at := cycleRecord{}
	b := c.base(cycle)
	at.Count, at.Sum, at.Epoch = b.Count, b.Sum, b.Epoch
	if n := len(c.mu.records); n > 0 && c.mu.records[n-1].Cycle+1 >= cycle {
		at = c.mu.records[n-1]
		cycle = at.Cycle + 1
	}
	var fresh []cycleRecord
	for ; cycle < last.Cycle(); cycle++ {
		at.Controls = nil
		if err := readCycle(q, cycle, math.MaxUint64, &at); err != nil {
			return errors.Join(err, c.write(fresh))
		}
		c.mu.records = append(c.mu.records, at)
		fresh = append(fresh, at)
	}
	return c.write(fresh)
}

// write adds lines to the file, or writes it anew, and flushes it. mu is held.
func (c *chain) write(fresh []cycleRecord) error {
	known := queue.Index(0)
	if n := len(c.mu.records); n > 0 {
		known = queue.NewIndex(c.mu.records[n-1].Cycle+1, 0)
	}
	defer func() { c.known.Store(uint64(known)) }()
	if !c.mu.dirty && len(fresh) == 0 {
		return nil
	}
	if c.mu.dirty {
		fresh = c.mu.records
	}
	var b []byte
	for _, r := range fresh {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write %s: %w", chainName, err)
		}
		b = append(append(b, check(line)...), '\n')
	}
	err := c.append(b)
	if err != nil {
		known, c.mu.dirty = 0, true
		return fmt.Errorf("write %s: %w", chainName, err)
	}
	c.mu.dirty = false
	return nil
}

// append puts lines on the disk.
func (c *chain) append(b []byte) error {
	if c.mu.dirty || c.mu.size == 0 {
		c.mu.size = int64(len(b))
		return replaceFile(c.dir, chainName, b)
	}
	f, err := c.dir.Open(chainName, true)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, c.mu.size)
	if err == nil {
		err = f.Sync()
	}
	c.mu.size += int64(len(b))
	return errors.Join(err, f.Close())
}

// catchUp makes records for the cycles that are over.
func (c *chain) catchUp(q *queue.Queue) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.extend(q)
}

// sumTo is the running checksum up to and with an entry.
func (c *chain) sumTo(q *queue.Queue, i queue.Index) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.extend(q); err != nil {
		return 0, err
	}
	if c.listed != nil {
		c.listed()
	}
	at := cycleRecord{Sum: c.base(i.Cycle()).Sum}
	if err := readCycle(q, i.Cycle(), i, &at); err != nil {
		return 0, err
	}
	if at.Entries != i.Seq()+1 {
		return 0, fmt.Errorf("sum up to entry %s: %w", i, queue.ErrNotFound)
	}
	return at.Sum, nil
}

// gone is the record of the last cycle that retention has deleted, if it has one.
func (c *chain) gone(q *queue.Queue) (cycleRecord, bool) {
	first := q.First().Cycle()
	if first == 0 {
		return cycleRecord{}, false
	}
	return c.end(first - 1)
}

// end is the record of a cycle, of which retention may have deleted the file.
func (c *chain) end(cycle uint32) (cycleRecord, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := slices.IndexFunc(c.mu.records, func(r cycleRecord) bool { return r.Cycle == cycle })
	if k < 0 {
		return cycleRecord{}, false
	}
	return c.mu.records[k], true
}

// readChunk is how much of a cold cycle is read at a time.
const readChunk = 256 << 10

// readCycle takes the entries of a cycle, up to one of them, into a record of what
// lies before it.
func readCycle(q *queue.Queue, cycle uint32, to queue.Index, at *cycleRecord) error {
	fail := func(err error) error { return fmt.Errorf("read cycle %d of queue %s: %w", cycle, q.Dir(), err) }
	head, err := q.Head(cycle)
	if err != nil {
		return fail(err)
	}
	at.Cycle, at.Salt, at.Entries = cycle, head.Salt, 0
	r := q.NewBlockReader(queue.Place{Index: queue.NewIndex(cycle, 0)})
	defer r.Close()
	for {
		b, ok, err := r.TryNext(readChunk)
		if err != nil {
			return fail(err)
		}
		if !ok || b.Cycle != cycle {
			return nil
		}
		p := piece{head: head, block: b}
		err = p.each(func(e core.Entry) error {
			if e.Index > to {
				return nil
			}
			return at.take(e)
		})
		if err != nil {
			return fail(err)
		}
		if b.End || b.Next() > to {
			return nil
		}
	}
}

// take adds an entry to what the record sums up.
func (r *cycleRecord) take(e core.Entry) error {
	r.Sum = core.Chain(r.Sum, e)
	r.Count++
	r.Entries++
	if !e.Control {
		return nil
	}
	c, err := core.DecodeControl(e.Payload)
	if err != nil {
		return fmt.Errorf("note %s: %w", e.Index, err)
	}
	if c.Kind == core.EpochBegins {
		r.Epoch = c.Epoch
	}
	r.Controls = append(r.Controls, core.Row{Control: c, Index: e.Index})
	return nil
}
