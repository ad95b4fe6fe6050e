package journals

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/queue"
)

// Pawl is package queue.
func Pawl() System {
	return System{Name: "pawl queue", Open: func(dir string, flushed bool) (*Journal, error) {
		cfg := queue.Config{Logger: slog.New(slog.DiscardHandler), FlushEvery: time.Hour}
		if flushed {
			cfg.Durability = queue.Disk
		}
		q, err := queue.Open(dir, cfg)
		if err != nil {
			return nil, err
		}
		ctx := context.Background()
		return &Journal{
			Append: func(m []byte) error {
				_, err := q.Append(m)
				return err
			},
			Durable: func(m []byte) error {
				i, err := q.Append(m)
				if err != nil {
					return err
				}
				return q.WaitDurable(ctx, i)
			},
			Read: func() (n int, err error) {
				t := q.NewTailer(0)
				defer t.Close()
				for {
					_, m, ok, err := t.TryNext()
					if err != nil || !ok {
						return n, err
					}
					look(m)
					n++
				}
			},
			Close: q.Close,
		}, nil
	}}
}

// Bare is a mapped log whose pages are there: no checks, no recovery, no other
// process. It is the limit.
func Bare() System {
	return System{Name: "bare mapped log", Open: func(dir string, _ bool) (*Journal, error) {
		l, err := measure.OpenLog(dir)
		if err != nil {
			return nil, err
		}
		return &Journal{
			Append: func(m []byte) error {
				l.Append(m)
				return nil
			},
			Durable: func(m []byte) error { return l.Wait(l.Append(m)) },
			Read: func() (n int, err error) {
				err = l.Read(func(m []byte) {
					look(m)
					n++
				})
				return n, err
			},
			Close: l.Close,
		}, nil
	}}
}

// look keeps the compiler from leaving out what nobody uses.
func look(m []byte) { runtime.KeepAlive(m[len(m)-1]) }
