package hosts

import (
	"context"
	"errors"
	"fmt"
)

// Each has the books of every host read, once the run is over: each host in turn is the
// source in this process, the last one first, and read is given its name and the URL of
// its engine, which it opens and closes. What a host then answers comes from the state
// that it has itself applied. Errors name the host.
func (h *Hosts) Each(ctx context.Context, read func(name, engine string) error) error {
	for turn := range names {
		if turn > 0 {
			h.source = (h.source + 1) % len(names)
		}
		if err := h.readOne(ctx, turn == 0, read); err != nil {
			return fmt.Errorf("host %s: %w", names[h.source], err)
		}
	}
	return nil
}

// readOne has the books of one host read. The last source goes on by itself when it
// opens; the others have to take over, while a third host stands by to promise.
func (h *Hosts) readOne(ctx context.Context, goesOn bool, read func(name, engine string) error) error {
	if err := h.end(h.source); err != nil {
		return err
	}
	name, engine := names[h.source], h.on(h.source).Engine()
	if goesOn {
		return read(name, engine)
	}
	before := (h.source + len(names) - 1) % len(names) // was the source; of itself it would go on
	if err := h.end(before); err != nil {
		return err
	}
	other := (h.source + 1) % len(names)
	if err := h.standBy(ctx, other); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	took := make(chan error, 1)
	go func() { took <- h.command(ctx, name, nil) }()
	err := read(name, engine)
	stop(errors.New("its books are closed"))
	return errors.Join(err, <-took)
}

// end kills a host that stands by.
func (h *Hosts) end(host int) error {
	life := h.standbys[host]
	if life == nil {
		return nil
	}
	h.standbys[host] = nil
	err := life.Kill()
	for range life.Events { // to its end, as Wait asks
	}
	_ = life.Wait() // says that it was killed
	return err
}
