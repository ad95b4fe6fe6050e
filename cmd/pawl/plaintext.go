package main

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/engine/remote/wire"
	"github.com/pawl-go/pawl/internal/v1"
)

// lastWords bounds how long a refusal may take until it is read.
const lastWords = 2 * time.Second

// refusePlaintext tells who has spoken without TLS to a port that wants it what to do,
// in its own protocol. Err is how the handshake ended; any other kind of stranger is not
// answered. The connection is the caller's to close.
func refusePlaintext(err error) {
	e, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || e.Conn == nil {
		return
	}
	answer := v1.RefusePlaintext
	switch first := e.RecordHeader[0]; {
	case first == wire.Preface[0]:
		answer = remote.RefusePlaintext
	case first < 'A' || first > 'Z': // no method of HTTP
		return
	}
	_ = e.Conn.SetDeadline(time.Now().Add(lastWords))
	if answer(e.Conn) != nil {
		return
	}
	// What comes in is read until its sender has seen the answer: to close before would
	// reset the connection, and the answer be lost.
	if c, ok := e.Conn.(*net.TCPConn); ok && c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c)
	}
}
