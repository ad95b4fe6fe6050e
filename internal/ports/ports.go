// Package ports finds ports of the loopback for programs that have to be told where to
// listen before they run: an application behind its runtime, the hosts of a replica set,
// the processes of a test.
//
// To listen at port 0 and to close again gives a port that the system soon gives to
// somebody else, as the local port of a connection or to the next one who asks. The ports
// of this package are below those that systems give away, and belong to this process while
// it lives: it holds the first port of a block, and hands out the others.
package ports

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The blocks lie between the ports of known services and the lowest one that Linux, the
// BSDs, macOS and Windows give away by default (32,768).
const (
	lowest    = 10_000
	blockSize = 64
	blocks    = 355
)

// Most is how many ports Free gives at once at most.
const Most = blockSize - 1

// Free finds n consecutive ports, from 1 to [Most], at none of which anybody listens on
// the loopback, and gives the first. No other process gets one of them from Free while
// this one lives; this one gets them again once its other ports have been given, if nobody
// listens there then. It may be called concurrently.
func Free(n int) (first int, err error) {
	if n < 1 || n > Most {
		return 0, fmt.Errorf("find free ports: %d at once, must be from 1 to %d", n, Most)
	}
	own.Lock()
	defer own.Unlock()
	if own.lock == nil {
		if err := own.take(); err != nil {
			return 0, err
		}
	}
	for range blockSize {
		first = own.next
		if first+n > own.first+blockSize {
			first = own.first + 1
		}
		own.next = first + n
		if unused(first, n) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("find %d free ports: all from %d to %d are in use: end the programs that listen there", n, own.first+1, own.first+Most)
}

// Addresses is Free as n addresses of the loopback, each 127.0.0.1:PORT.
func Addresses(n int) ([]string, error) {
	first, err := Free(n)
	if err != nil {
		return nil, err
	}
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = address(first + i)
	}
	return addresses, nil
}

// own is the block of this process.
var own block

// block is a run of ports. Who listens at its first one has the others.
type block struct {
	sync.Mutex
	lock  net.Listener // nil until the first port is asked for; never closed, the process's end does
	first int
	next  int
}

func (b *block) take() error {
	for _, i := range rand.Perm(blocks) {
		first := lowest + i*blockSize
		if l, err := listen(first); err == nil {
			b.lock, b.first, b.next = l, first, first+1
			return nil
		}
	}
	return fmt.Errorf("find free ports: %d programs hold a block of ports between %d and %d each: end some", blocks, lowest, lowest+blocks*blockSize-1)
}

func unused(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := listen(port)
		if err != nil {
			return false
		}
		_ = l.Close() // nobody has connected
	}
	return true
}

func listen(port int) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(context.Background(), "tcp", address(port))
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
