package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// line is the one message of the chat.
type line struct {
	From, Text string
}

// ear is the name of the actor that each node has.
const ear = "ear"

// person is who sits at this terminal.
type person struct {
	node *mesh.Node
	out  io.Writer
}

// say prints a line in one write, since several goroutines print.
func (p *person) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// listen has an actor print what it is sent, one line at a time.
func (p *person) listen() error {
	_, err := mesh.Spawn(p.node, ear, func(_ *mesh.Context, l line) error {
		p.say("%s: %s", l.From, l.Text)
		return nil
	})
	return err
}

// meet follows who comes, and watches each.
func (p *person) meet(ctx context.Context) {
	members := p.node.Subscribe()
	defer members.Close()
	watched := map[string]chan struct{}{} // who, and how to say that they are up
	up := func(name string) {
		if watched[name] == nil {
			watched[name] = make(chan struct{}, 1)
			go p.watch(ctx, name, watched[name])
		}
		select {
		case watched[name] <- struct{}{}:
		default:
		}
	}
	for _, m := range members.Snapshot[1:] { // the first is this node
		up(m.ID)
	}
	for {
		e, err := members.Next(ctx)
		if err != nil {
			return // this node stops
		}
		switch e.Kind {
		case mesh.MemberUp, mesh.MemberReachable:
			up(e.Member.ID)
		case mesh.MemberUnreachable:
			p.say("* %s does not answer; trying again", e.Member.ID)
		case mesh.MemberFailed:
			p.say("* %s is given up", e.Member.ID)
		}
	}
}

// watch greets somebody each time they are there, and says when they are gone: at
// once when the process is killed, for its connections end with it.
func (p *person) watch(ctx context.Context, name string, up <-chan struct{}) {
	for ctx.Err() == nil {
		monitor, err := p.to(name).Monitor(ctx)
		if err != nil {
			var again <-chan time.Time // never: who is no member comes up first
			if !errors.Is(err, mesh.SendNotAMember) {
				again = time.After(retry) // has only just started, or is being linked again
			}
			select {
			case <-up:
			case <-again:
			case <-ctx.Done():
			}
			continue
		}
		p.say("* %s is here", name)
		exit, err := monitor.Exit(ctx)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, mesh.ReplyDisconnected):
			p.say("* %s is gone: the connection is lost", name)
		case err == nil && exit.Reason == mesh.ExitNormal:
			p.say("* %s has left", name)
		case err == nil:
			p.say("* %s has ended: %s %s", name, exit.Reason, exit.Detail)
		}
	}
}

// retry is when somebody who cannot be watched yet is tried again.
const retry = 20 * time.Millisecond

func (p *person) to(name string) *mesh.Ref[line] {
	return mesh.At(p.node, mesh.Address[line]{Node: name, Name: ear})
}

// do obeys a command, or says the line to everybody else.
func (p *person) do(ctx context.Context, text string) {
	switch command, arg, _ := strings.Cut(text, " "); command {
	case "":
	case "/who":
		for _, m := range p.node.Members() {
			p.say("* %s at %s, reachable: %t", m.ID, m.Addr, m.Reachable)
		}
	case "/ping":
		took, err := p.to(arg).Ping(ctx)
		if err != nil {
			p.say("* %v", err)
			return
		}
		p.say("* %s answers after %v", arg, took.Round(time.Microsecond))
	default:
		for _, m := range p.node.Members()[1:] {
			// At most once: who cannot be reached now will not hear it later.
			if err := p.to(m.ID).Cast(ctx, line{p.node.ID(), text}); err != nil {
				p.say("* %v", err)
			}
		}
	}
}
