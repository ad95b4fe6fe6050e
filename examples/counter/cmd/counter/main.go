// The command counter increments a number in an outside store, in three ways,
// and kills the program at the bad moment of each. Then it increments the right
// way many times over, and kills the program at random.
//
//	go run ./examples/counter/cmd/counter [--kills 10] [--durability disk]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/pawl-go/pawl/examples/counter"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// moments are the points at which the program is killed, and what one increment
// makes of 0 then.
var moments = []struct {
	variant counter.Variant
	point   string
	want    int64
}{
	{counter.Tail, "got 0", 1},
	{counter.Tail, "after set 1", 1},
	{counter.InOne, "after set 1", 2},
	{counter.Nested, "called for 1", 2},
}

func main() {
	crash.Main(map[string]crash.App{"counter": counter.Child})
	kills := flag.Int("kills", 10, "how many times to kill the program at random")
	durability := flag.String("durability", "process", "process or disk")
	seed := flag.Uint64("seed", rand.Uint64(), "of the random moments")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "counter-")
	if err == nil {
		err = errors.Join(show(ctx, dir, *durability), hurt(ctx, dir, *durability, *kills, *seed))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "counter: %v\nthe data are kept in %s\n", err, dir)
		os.Exit(1)
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "counter: remove data:", err)
	}
}

// show kills each variant at its bad moments.
func show(ctx context.Context, dir, durability string) error {
	fmt.Println("variant   killed at      one increment makes of 0")
	var wrong []error
	for i, m := range moments {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			return err
		}
		got, err := counter.KillAt(ctx, sub, durability, m.variant, m.point)
		if err != nil {
			return err
		}
		verdict := "right"
		if got != 1 {
			verdict = "wrong, as the variant is"
		}
		if got != m.want {
			wrong = append(wrong, fmt.Errorf("variant %s killed at %q: %d, want %d", m.variant, m.point, got, m.want))
			verdict = "not what it should be"
		}
		fmt.Printf("%-9s %-14s %d  %s\n", m.variant, m.point, got, verdict)
	}
	return errors.Join(wrong...)
}

// hurt increments the right way in a child that is killed at random.
func hurt(ctx context.Context, dir, durability string, kills int, seed uint64) error {
	increments := 200 * kills
	run := crash.Run{
		Job:   crash.Job{Dir: filepath.Join(dir, "random"), Durability: durability, Rate: 2000},
		Kills: kills, Seed: seed,
	}
	result, err := counter.Run(ctx, run, increments)
	if err != nil {
		return err
	}
	differences, err := counter.Audit(run.Job, increments)
	if err != nil {
		return err
	}
	for _, d := range differences {
		fmt.Println("differs:", d)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%d counters are wrong (seed %d)", len(differences), seed)
	}
	fmt.Printf("\n%d increments by tail call, %d times kill -9: every counter is right\n", increments, len(result.Kills))
	return nil
}
