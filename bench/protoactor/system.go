package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/pawl-go/pawl/bench/messages"
)

// node is a system of actors that can be reached.
type node struct {
	system *actor.ActorSystem
	remote *remote.Remote
}

// start starts a node with an actor for each place.
func start() *node {
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
			panic(err) // the names differ
		}
	}
	return n
}

func (n *node) stop() { n.remote.Shutdown(false) }

func name(p messages.Place) string { return fmt.Sprint("actor", int(p)) }

// system is protoactor-go as a messages.System.
type system struct {
	*node
	other *child
	pids  [3]*actor.PID
}

func newSystem(other *child) *system {
	s := &system{node: start(), other: other}
	s.pids[messages.Here] = actor.NewPID(s.system.Address(), name(messages.Here))
	for _, p := range []messages.Place{messages.There, messages.Large} {
		s.pids[p] = actor.NewPID(other.addr, name(p))
	}
	return s
}

func (s *system) close() { s.stop() }

// Name is that in the report.
func (s *system) Name() string { return "protoactor-go" }

// CPU is that of the other process.
func (s *system) CPU() time.Duration { return s.other.cpu() }

// Teller has all places. The message is wrapped once, as long as it is the same.
func (s *system) Teller(p messages.Place) func([]byte) error {
	root, to := s.system.Root, s.pids[p]
	var wrapped *wrapperspb.BytesValue
	return func(m []byte) error {
		if wrapped == nil || &wrapped.Value[0] != &m[0] {
			wrapped = &wrapperspb.BytesValue{Value: m}
		}
		root.Send(to, wrapped)
		return nil
	}
}

// Asker has all places.
func (s *system) Asker(p messages.Place) func([]byte) ([]byte, error) {
	root, to := s.system.Root, s.pids[p]
	return func(m []byte) ([]byte, error) {
		answer, err := root.RequestFuture(to, &wrapperspb.BytesValue{Value: m}, 30*time.Second).Result()
		if err != nil {
			return nil, err
		}
		b, ok := answer.(*wrapperspb.BytesValue)
		if !ok {
			return nil, fmt.Errorf("an answer of type %T", answer)
		}
		return b.Value, nil
	}
}
