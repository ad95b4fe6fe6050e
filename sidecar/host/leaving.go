package host

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// The application keeps an actor in memory until it is told to let it go. The
// runtime is done with an instance before that: it may make the next one meanwhile, and
// the application must not be asked for that one and then told to drop it. So what is
// to go is known by its actor from [instance.Leave] on, and whoever comes first, the
// runtime's sweeper or the next activation, tells the application; the other waits.

// leaving is an actor that the application has to let go.
type leaving struct{ once sync.Once }

// Leave implements runtime.Leaver.
func (i *instance) Leave() {
	if !i.made {
		return
	}
	i.gone = &leaving{}
	i.host.mu.Lock()
	defer i.host.mu.Unlock()
	i.host.mu.leaving[i.actor] = i.gone
}

// Deactivate tells the application that the actor is not used any more.
func (i *instance) Deactivate() {
	if i.gone != nil {
		i.host.letGo(i.actor, i.gone)
	}
}

// gone returns when the application has let go of an instance of the actor that
// was to go.
func (h *Host) gone(a engine.Actor) {
	h.mu.Lock()
	l := h.mu.leaving[a]
	h.mu.Unlock()
	if l != nil {
		h.letGo(a, l)
	}
}

func (h *Host) letGo(a engine.Actor, l *leaving) {
	l.once.Do(func() {
		h.Forget(context.Background(), a)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mu.leaving[a] == l {
			delete(h.mu.leaving, a)
		}
	})
}

// deactivateTimeout bounds how long the application may take to let an actor go.
const deactivateTimeout = 5 * time.Second

// Forget has the application let go of an actor, if it has it.
func (h *Host) Forget(ctx context.Context, a engine.Actor) {
	ctx, cancel := context.WithTimeout(ctx, deactivateTimeout)
	defer cancel()
	defer context.AfterFunc(h.ending, cancel)()
	if _, err := h.once(ctx, http.MethodDelete, actorPath(a, "", ""), nil, nil); err != nil {
		h.cfg.Logger.Debug("deactivate", "actor", a, "error", err)
	}
}

// End gives up telling the application what it may let go: it is about to end.
func (h *Host) End() { h.end() }
