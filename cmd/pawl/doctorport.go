package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

// portPatience bounds the question whether Pawl answers at a port.
const portPatience = 2 * time.Second

// examinePort says whether HOST:PORT can be listened on. If Pawl listens there already,
// all is well; if another process does, it is named as far as the system tells.
func examinePort(ctx context.Context, address string) finding {
	name := "port " + address
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err == nil {
		_ = l.Close()
		return finding{name, true, "it is free"}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return finding{name, false, err.Error() + ": give an address of this machine as HOST:PORT"}
	}
	who := holder(address)
	if servesPawl(ctx, address) {
		return finding{name, true, "Pawl answers there; held by " + who}
	}
	return finding{name, false, "held by " + who + ": end it, or listen elsewhere (--listen of pawl serve)"}
}

// holder names the process that listens at an address.
func holder(address string) string {
	const unknown = "a process that the system does not tell: of another user or container"
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return unknown
	}
	pid, command, ok := listenerOn(uint16(port))
	if !ok {
		return unknown
	}
	return fmt.Sprintf("process %d (%s)", pid, command)
}

// servesPawl reports whether /v1 answers at an address, be it with a refusal.
func servesPawl(ctx context.Context, address string) bool {
	cl, err := client.Open("http://" + address)
	if err != nil {
		return false
	}
	defer cl.Close()
	err = cl.Ready(ctx, portPatience)
	_, refused := errors.AsType[*v1.Problem](err)
	return err == nil || refused
}
