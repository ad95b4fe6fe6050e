package messages

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pawl-go/pawl/mesh"
)

// Pawl is package mesh, with actors that allow [mesh.Quick].
func Pawl() System { return pawl("pawl mesh", mesh.Quick()) }

// PawlNotQuick is package mesh with actors that run on goroutines of their own, as a
// handler must that may wait for something.
func PawlNotQuick() System { return pawl("pawl, not quick") }

func pawl(name string, options ...mesh.SpawnOption) System {
	const here, there = "here", "there"
	return System{
		Name: name,
		Serve: func() (*Server, error) {
			n, err := startNode(there, options)
			if err != nil {
				return nil, err
			}
			return &Server{n.Addr(), n.Close}, nil
		},
		Open: func(ctx context.Context, addr string) (*Client, error) {
			n, err := startNode(here, options, mesh.Peer{ID: there, Addr: addr})
			if err != nil {
				return nil, err
			}
			if err := n.WaitForMembers(ctx, 2); err != nil {
				n.Close()
				return nil, err
			}
			c := &Client{Close: n.Close}
			for place, node := range []string{Here: here, There: there, Large: there} {
				c.Actors[place] = pawlActor(mesh.At(n, mesh.Address[[]byte]{Node: node, Name: actorName(Place(place))}))
			}
			return c, nil
		},
	}
}

func pawlActor(to *mesh.Ref[[]byte]) *Actor {
	ctx := context.Background()
	return &Actor{
		Tell: func(m []byte) error { return to.Cast(ctx, m) },
		Ask:  func(m []byte) ([]byte, error) { return mesh.Call[[]byte](ctx, to, m) },
	}
}

// startNode starts a node with an actor for each place.
func startNode(id string, options []mesh.SpawnOption, peers ...mesh.Peer) (*mesh.Node, error) {
	n, err := mesh.Start(mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Members: mesh.Static(peers...), Logger: slog.New(slog.DiscardHandler),
		Messages: []mesh.MessageType{mesh.Message[[]byte]("bytes")},
	})
	if err != nil {
		return nil, err
	}
	for place := Here; place <= Large; place++ {
		var told uint64
		_, err := mesh.Spawn(n, actorName(place), func(c *mesh.Context, m []byte) error {
			if !c.IsCall() {
				told++
				return nil
			}
			return c.Reply(Answer(m, told))
		}, options...)
		if err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// actorName decides about the lane of an actor: those of There and Large differ.
func actorName(p Place) string { return fmt.Sprint("actor", int(p)) }
