package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/pawl-go/pawl/bench/messages"
)

// protoactor is protoactor-go.
func protoactor() messages.System {
	return messages.System{
		Name: "protoactor-go",
		Serve: func() (*messages.Server, error) {
			n, err := start()
			if err != nil {
				return nil, err
			}
			return &messages.Server{Addr: n.system.Address(), Close: n.stop}, nil
		},
		Open: func(_ context.Context, addr string) (*messages.Client, error) {
			n, err := start()
			if err != nil {
				return nil, err
			}
			c := &messages.Client{Close: n.stop}
			for place, addr := range []string{
				messages.Here: n.system.Address(), messages.There: addr, messages.Large: addr,
			} {
				c.Actors[place] = n.actor(actor.NewPID(addr, name(messages.Place(place))))
			}
			return c, nil
		},
	}
}

// node is a system of actors that can be reached.
type node struct {
	system *actor.ActorSystem
	remote *remote.Remote
}

// start starts a node with an actor for each place.
func start() (*node, error) {
	quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	n := &node{system: actor.NewActorSystem(actor.WithLoggerFactory(quiet))}
	cfg := remote.Configure("127.0.0.1", 0, remote.WithServerOptions(grpc.MaxRecvMsgSize(16<<20)),
		remote.WithCallOptions(grpc.MaxCallSendMsgSize(16<<20)), remote.WithDialOptions(grpc.WithInsecure())) //nolint:staticcheck // the library's default
	n.remote = remote.NewRemote(n.system, cfg)
	n.remote.Start()
	for place := messages.Here; place <= messages.Large; place++ {
		var told uint64
		props := actor.PropsFromFunc(func(c actor.Context) {
			m, ok := c.Message().(*wrapperspb.BytesValue)
			switch {
			case !ok: // it starts or stops
			case c.Sender() == nil:
				told++
			default:
				c.Respond(&wrapperspb.BytesValue{Value: messages.Answer(m.Value, told)})
			}
		})
		if _, err := n.system.Root.SpawnNamed(props, name(place)); err != nil {
			n.stop()
			return nil, err
		}
	}
	return n, nil
}

func (n *node) stop() { n.remote.Shutdown(false) }

func name(p messages.Place) string { return fmt.Sprint("actor", int(p)) }

// actor is one of them. A message to tell is wrapped once, as long as it is the same.
func (n *node) actor(to *actor.PID) *messages.Actor {
	root := n.system.Root
	var wrapped *wrapperspb.BytesValue
	return &messages.Actor{
		Tell: func(m []byte) error {
			if wrapped == nil || &wrapped.Value[0] != &m[0] {
				wrapped = &wrapperspb.BytesValue{Value: m}
			}
			root.Send(to, wrapped)
			return nil
		},
		Ask: func(m []byte) ([]byte, error) {
			answer, err := root.RequestFuture(to, &wrapperspb.BytesValue{Value: m}, 30*time.Second).Result()
			if err != nil {
				return nil, err
			}
			b, ok := answer.(*wrapperspb.BytesValue)
			if !ok {
				return nil, fmt.Errorf("an answer of type %T", answer)
			}
			return b.Value, nil
		},
	}
}
