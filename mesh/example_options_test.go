package mesh_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// A node that others may reach needs a secret or TLS. Who does not know the secret
// is refused, before anything it sends is looked at.
func ExampleStart() {
	cfg := mesh.Config{ID: "a", Listen: ":0", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	_, err := mesh.Start(cfg)
	fmt.Println(err)

	cfg.Secret = []byte("known to all nodes, and to nobody else")
	a, err := mesh.Start(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	fmt.Println(a.ID(), a.State())
	// Output:
	// start node "a": config: Listen ":0" can be reached from other machines: set TLS or Secret
	// a up
}

// The timeout of a call goes before that of its reference and of its node.
func ExampleCall() {
	a, b, stop := examplePair()
	defer stop()
	_, err := mesh.Spawn(a, "slow", func(c *mesh.Context, _ string) error {
		<-c.Done() // the caller's deadline has come with the call
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	slow := mesh.At(b, mesh.Address[string]{Node: "a", Name: "slow"}).WithTimeout(time.Hour)
	_, err = mesh.Call[string](context.Background(), slow, "x", mesh.Timeout(10*time.Millisecond))
	fmt.Println(errors.Is(err, mesh.ReplyTimeout), mesh.OutcomeUnknown(err))
	// Output: true true
}

// A type that is sent often may have an encoding of its own.
func ExampleBinaryMessage() {
	type tick uint64
	a, err := mesh.Start(mesh.Config{
		ID: "a",
		Messages: []mesh.MessageType{mesh.BinaryMessage("tick",
			func(dst []byte, m tick) ([]byte, error) { return binary.LittleEndian.AppendUint64(dst, uint64(m)), nil },
			func(data []byte) (tick, error) {
				if len(data) != 8 {
					return 0, fmt.Errorf("a tick of %d bytes", len(data))
				}
				return tick(binary.LittleEndian.Uint64(data)), nil
			})},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	clock, err := mesh.Spawn(a, "clock", func(c *mesh.Context, m tick) error { return c.Reply(uint64(m) + 1) })
	if err != nil {
		log.Fatal(err)
	}
	next, err := mesh.Call[uint64](context.Background(), clock, 41)
	fmt.Println(next, err)
	// Output: 42 <nil>
}

// OnExit sees each end of an actor's life.
func ExampleOnExit() {
	a := exampleNode("a")
	defer a.Close()
	ended := make(chan mesh.Exit, 1)
	fragile, err := mesh.Spawn(a, "fragile",
		func(*mesh.Context, string) error { return errors.New("as told") },
		mesh.OnExit(func(e mesh.Exit) { ended <- e }))
	if err != nil {
		log.Fatal(err)
	}
	if err := fragile.Cast(context.Background(), "fail"); err != nil {
		log.Fatal(err)
	}
	e := <-ended
	fmt.Println(e.Reason, e.Detail, e.Restarting)
	// Output: error as told false
}

// At rest, what was sent is handled, refused or dropped.
func ExampleNode_Counters() {
	a := exampleNode("a")
	defer a.Close()
	echo, err := mesh.Spawn(a, "echo", func(c *mesh.Context, m string) error { return c.Reply(m) })
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if _, err := mesh.Call[string](context.Background(), echo, "x"); err != nil {
			log.Fatal(err)
		}
	}
	c := a.Counters()
	fmt.Println(c.Sent, c.Handled, c.Dropped[mesh.ReasonExpired])
	// Output: 3 3 0
}
