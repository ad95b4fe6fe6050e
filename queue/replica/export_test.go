package replica

import (
	"errors"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// AppendMessage appends the frame of a message that has no entries.
func AppendMessage(b []byte, m *core.Message) ([]byte, error) { return appendMessage(b, 0, m) }

// DieInstead has the queues of a host do nothing more from the first effect on that
// is answered with true. Kill the host then.
func (c *Config) DieInstead(of func(core.Effect) bool) { c.dies = of }

// Kill ends a host as the death of its process would: nothing is written down as
// safe any more. What the operating system has stays.
func (h *Host) Kill() error {
	h.cancel()
	if h.listener != nil {
		_ = h.listener.Close()
	}
	for _, l := range h.links {
		l.hang()
	}
	for _, q := range h.queues {
		q.mu.Lock()
		q.end(errors.New("killed"))
		q.mu.Unlock()
	}
	h.owned.Wait()
	var errs []error
	for _, q := range h.queues {
		errs = append(errs, q.stop())
	}
	close(h.quit)
	h.told.Wait()
	return errors.Join(errs...)
}

// Hold keeps a host from changing its queues, until the result is called.
func (h *Host) Hold() func() {
	for _, q := range h.queues {
		q.mu.Lock()
	}
	return func() {
		for _, q := range h.queues {
			q.mu.Unlock()
		}
	}
}

// Unread is how many bytes wait to be written to a host; -1: it is not connected.
func (h *Host) Unread(peer HostID) int {
	c := h.connNow(peer)
	if c == nil {
		return -1
	}
	c.out.Lock()
	defer c.out.Unlock()
	return c.out.bytes
}
