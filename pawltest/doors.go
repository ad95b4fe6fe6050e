package pawltest

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/pawl-go/pawl/engine"
)

// The engines of tests are opened by URLs of a scheme of their own, as those of
// programs are: "pawltest:7/0" is the engine of world 7 as component 0 sees it.
// So the code that opens an app is the program's own.

func init() { engine.Register("pawltest", openDoor) }

// doors are the ways into the engines of the tests that run, by their number.
type doors struct {
	sync.Mutex
	last int
	open map[string]func(part string) (engine.Engine, error)
}

var worlds doors

func (d *doors) add(open func(part string) (engine.Engine, error)) (id string) {
	d.Lock()
	defer d.Unlock()
	if d.open == nil {
		d.open = map[string]func(string) (engine.Engine, error){}
	}
	d.last++
	id = strconv.Itoa(d.last)
	d.open[id] = open
	return id
}

func (d *doors) remove(id string) {
	d.Lock()
	defer d.Unlock()
	delete(d.open, id)
}

func openDoor(_ context.Context, u *url.URL, _ engine.Options) (engine.Engine, error) {
	id, part, _ := strings.Cut(u.Opaque, "/")
	worlds.Lock()
	open := worlds.open[id]
	worlds.Unlock()
	if open == nil {
		return nil, fmt.Errorf("open engine %s: its test has ended, or never was", u)
	}
	return open(part)
}

// door opens the world's engine for its client, or one of its components.
func (w *World) door(part string) (engine.Engine, error) {
	if part == "client" {
		return w.client, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.mu.components {
		if strconv.Itoa(c.rank) == part {
			return &door{c}, nil
		}
	}
	return nil, fmt.Errorf("open engine: the world has no component %q", part)
}
