package host

import (
	"context"
	"encoding/json"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
)

// listingIdentity is that of the types by which a component tells others which
// actors its application has in memory: engines know placements, but list what
// has state or requests.
const listingIdentity = topics.Reserved + "sidecar"

const methodLive = "live"

// Listing is the type by which the component of a name tells which actors of some
// types its application has in memory. It is a read-only method: nothing of it is
// recorded.
func Listing(component string, kinds []string) *runtime.Type {
	return &runtime.Type{
		Name: listingIdentity + "/" + component, Identity: listingIdentity,
		Methods: map[string]*runtime.Method{methodLive: {Name: methodLive, ReadOnly: true}},
		New:     func(string) runtime.Instance { return listing{kinds: kinds} },
	}
}

type listing struct {
	stateless
	kinds []string
}

// Activate does nothing: there is nobody to tell.
func (listing) Activate(*runtime.Invocation) error { return nil }

// Deactivate does nothing.
func (listing) Deactivate() {}

// Invoke lists the actors that are in memory.
func (l listing) Invoke(inv *runtime.Invocation, _ *runtime.Method, _ []byte) runtime.Result {
	b, err := json.Marshal(LiveHere(inv.Component(), l.kinds))
	if err != nil { // strings
		panic(err)
	}
	return runtime.Result{Value: b}
}

// LiveHere gives the ids of the actors of some types that the application of a
// component has in memory.
func LiveHere(c *runtime.Component, kinds []string) map[string][]string {
	all := map[string][]string{}
	for _, kind := range kinds {
		if ids := c.Live(kind); len(ids) > 0 {
			all[kind] = ids
		}
	}
	return all
}

// Live gives the ids of the actors that applications have in memory, by type, of all
// components that are paired with one. Components that go meanwhile are left out.
func Live(ctx context.Context, c *runtime.Component) (map[string][]string, error) {
	all := map[string][]string{}
	for _, m := range c.Session().Members() {
		for _, t := range m.Types {
			if t.Identity != listingIdentity {
				continue
			}
			o, err := c.Read(ctx, runtime.Call{To: engine.Actor{Type: t.Name}, Method: methodLive})
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			var some map[string][]string
			if err != nil || o.Failure != nil || json.Unmarshal(o.Value, &some) != nil {
				continue
			}
			for kind, ids := range some {
				all[kind] = append(all[kind], ids...)
			}
		}
	}
	return all, nil
}
