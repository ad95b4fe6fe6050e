package mesh

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Messages large and small, of several senders to several actors, arrive as they were
// sent, though the buffers of the large ones are used again while others leave.
func TestBuffersUsedAgain(t *testing.T) {
	const actors, messages = 4, 50
	a, b := pair(t)
	sums := make(chan string, actors*messages) // room for all: no actor waits
	var senders sync.WaitGroup
	for i := range actors {
		name := fmt.Sprint("actor", i)
		if _, err := Spawn(b, name, func(_ *Context, m []byte) error {
			sums <- fmt.Sprint(name, len(m), crc32.ChecksumIEEE(m))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	want := make([]map[string]int, actors)
	for i := range actors {
		want[i] = map[string]int{}
		senders.Go(func() {
			source := rand.NewChaCha8([32]byte{byte(i)})
			random := rand.New(source)
			name := fmt.Sprint("actor", i)
			to := At(a, Address[[]byte]{Node: "b", Name: name})
			for range messages {
				m := make([]byte, []int{64, 20 << 10, 100 << 10, 300 << 10}[random.IntN(4)]+random.IntN(64))
				_, _ = source.Read(m) // never fails
				want[i][fmt.Sprint(name, len(m), crc32.ChecksumIEEE(m))]++
				if err := to.Cast(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range actors * messages {
		select {
		case sum := <-sums:
			found := false
			for i := range want {
				if want[i][sum] > 0 {
					want[i][sum]--
					found = true
				}
			}
			if !found {
				t.Errorf("%s was not sent", sum)
			}
		case <-ctx.Done():
			t.Fatal("messages are missing")
		}
	}
}

// Whoever has sent a large message to an actor gets such a buffer for the next few.
func TestLargeIsExpected(t *testing.T) {
	a, b := pair(t)
	if _, err := Spawn(b, "x", func(c *Context, m []byte) error {
		if c.IsCall() {
			return c.Reply(len(m))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	to := At(a, Address[[]byte]{Node: "b", Name: "x"})
	for i, size := range []int{10, 1 << 20, 10, 10} {
		if _, err := Call[int](t.Context(), to, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if got, want := to.large.Load(), []int32{0, expectLarge, expectLarge - 1, expectLarge - 2}[i]; got != want {
			t.Errorf("after message %d: %d, want %d", i, got, want)
		}
	}
	a.giveBuffer(&buffer{make([]byte, keepBuffer+1)})
	a.giveBuffer(&buffer{make([]byte, 0, keepBuffer)})
	if got := cap(a.takeBuffer().b); got > keepBuffer {
		t.Errorf("a buffer of %d bytes for any message", got)
	}
}
