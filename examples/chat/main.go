// Command chat is a chat between terminals of one machine, on package mesh: nodes
// that find each other by gossip, an actor with a name on each, casts to all, and a
// monitor on everybody, which tells at once who is gone. Start it in two or three
// terminals:
//
//	go run ./examples/chat ann
//	go run ./examples/chat bob
//	go run ./examples/chat carl
//
// Say something in one of them. Then kill -9 a process by the number that it has
// printed, see the others notice, and start it again.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/gossip"
)

func main() {
	port := flag.Int("port", 7410, "the first of the ports at which the nodes gossip")
	silence := flag.Duration("silence", 3*time.Second, "who says nothing for so long is gone, if the connection does not tell before")
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "use it as: chat [--port 7410] [--silence 3s] NAME") }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := chat(ctx, flag.Arg(0), *port, *silence, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		stop()
		os.Exit(1)
	}
}

// chat runs until its input or ctx ends.
func chat(ctx context.Context, name string, port int, silence time.Duration, in io.Reader, out io.Writer) error {
	node, err := start(name, port, silence)
	if err != nil {
		return err
	}
	defer node.Close()
	p := &person{node: node, out: out}
	if err := p.listen(); err != nil {
		return err
	}
	fmt.Fprintf(out, "You are %s, process %d. Say something, or /who, /ping NAME, /quit.\n", name, os.Getpid())
	fmt.Fprintf(out, "From outside: go run ./cmd/pawl mesh ls --node %s=%s\n", name, node.Addr())
	go p.meet(ctx)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if ok && line != "/quit" {
				p.do(ctx, strings.TrimSpace(line))
				continue
			}
		case <-ctx.Done():
		}
		// Longer than the silence after which a peer that hangs is gone.
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*silence+time.Second)
		defer cancel()
		return node.Leave(leave)
	}
}

// places is how many can chat on one machine.
const places = 8

// start starts a node that gossips at the first port that is free, and asks at all
// of them who there is.
func start(name string, port int, silence time.Duration) (node *mesh.Node, err error) {
	var seeds []string
	for i := range places {
		seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", port+i))
	}
	quiet := slog.New(slog.DiscardHandler)
	for _, place := range seeds {
		node, err = mesh.Start(mesh.Config{
			ID: name, Listen: "127.0.0.1:0", Logger: quiet,
			Messages: []mesh.MessageType{mesh.Message[line]("chat.line")},
			Timing:   mesh.Timing{Silence: silence},
			Members:  gossip.New(gossip.Config{Listen: place, Seeds: seeds, Logger: quiet}),
		})
		if err == nil {
			return node, nil
		}
	}
	return nil, err
}
