// The command hello counts how often each name was greeted, and still knows
// when it was killed in between.
//
//	go run ./examples/hello Ada
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/pawl-go/pawl"
)

// Greeter is an actor: a plain type with durable cells and plain methods.
type Greeter struct {
	count pawl.Value[int]
}

// Greet returns how often this greeter was called, itself included.
func (g *Greeter) Greet(ctx context.Context, _ pawl.None) (int, error) {
	return g.count.Update(ctx, func(n int) int { return n + 1 }), nil
}

func main() {
	name := "world"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	ctx := context.Background()
	app, err := pawl.Open(ctx, "local:./data/hello", pawl.Config{App: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	pawl.Register[Greeter](app)
	if err := app.Start(ctx); err != nil {
		log.Fatal(err)
	}
	n, err := pawl.Call(app.Context(ctx), pawl.Actor[*Greeter](name), (*Greeter).Greet, pawl.None{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Hello %s, for time number %d.\n", name, n)
}
