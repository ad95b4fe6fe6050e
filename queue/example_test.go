package queue_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/pawl-go/pawl/queue"
)

// Append, make durable, read back by index and in order.
func Example() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	q, err := queue.Open(dir, queue.Config{Durability: queue.Disk})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	first, err := q.Append([]byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := q.AppendBatch([]byte("all of"), []byte("these or none")); err != nil {
		log.Fatal(err)
	}
	if err := q.WaitDurable(context.Background(), q.Last()); err != nil {
		log.Fatal(err)
	}
	p, err := q.Read(first)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", first, p)
	for e, err := range q.Entries(first + 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", e.Index, e.Payload)
	}
	// Output:
	// 1:0 hello
	// 1:1 all of
	// 1:2 these or none
}

// Fill an entry in place.
func ExampleQueue_Reserve() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	q, err := queue.Open(dir, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	s, err := q.Reserve(5)
	if err != nil {
		log.Fatal(err)
	}
	copy(s.Bytes(), "hello")
	i, err := s.Commit()
	fmt.Println(i, err)
	// Output: 1:0 <nil>
}

// Follow a queue, from its end on, until the context ends.
func ExampleTailer_Next() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	q, err := queue.Open(dir, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	t := q.NewTailer(q.Last() + 1)
	defer t.Close()
	if _, err := q.Append([]byte("news")); err != nil {
		log.Fatal(err)
	}
	i, p, err := t.Next(context.Background())
	fmt.Printf("%s %s %v\n", i, p, err)
	// Output: 1:0 news <nil>
}

// Go on where the last tailer of a name has committed.
func ExampleQueue_NewNamedTailer() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	q, err := queue.Open(dir, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	if _, err := q.AppendBatch([]byte("one"), []byte("two")); err != nil {
		log.Fatal(err)
	}

	for range 2 {
		t, err := q.NewNamedTailer("billing", queue.PositionOptions{HoldBack: true})
		if err != nil {
			log.Fatal(err)
		}
		i, p, err := t.Next(context.Background())
		fmt.Printf("%s %s %v\n", i, p, err)
		if err := t.Commit(); err != nil { // without it, "one" would come again
			log.Fatal(err)
		}
		if err := t.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 1:0 one <nil>
	// 1:1 two <nil>
}

// Find an entry by halving: the entries are in the order of what is compared.
func ExampleQueue_Search() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	q, err := queue.Open(dir, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	if _, err := q.AppendBatch([]byte("apple"), []byte("cherry"), []byte("plum")); err != nil {
		log.Fatal(err)
	}

	i, found, err := q.Search(func(_ queue.Index, p []byte) int { return strings.Compare(string(p), "cherry") })
	fmt.Println(i, found, err)
	// Output: 1:1 true <nil>
}
