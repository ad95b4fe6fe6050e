package pawltest

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl"
)

// Option is an option of [Run] and [Explore].
type Option interface{ option(*config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

// config is what the options make.
type config struct {
	app       pawl.Config
	seed      uint64
	failures  int
	schedules int
	within    time.Duration
	keep      bool // instances, from run to run
}

func newConfig(opts []Option, short bool) (config, error) {
	c := config{seed: 1, failures: 2, schedules: 2000, within: time.Minute}
	if short {
		c.failures = 1
	}
	for _, o := range opts {
		o.option(&c)
	}
	switch {
	case c.failures < 0:
		return c, fmt.Errorf("Failures(%d): it is negative", c.failures)
	case c.schedules <= 0:
		return c, fmt.Errorf("Schedules(%d): it is not positive", c.schedules)
	case c.within <= 0:
		return c, fmt.Errorf("Within(%v): it is not positive", c.within)
	}
	if c.app.App == "" {
		c.app.App = "pawltest"
	}
	return c, nil
}

// Failures sets how many failures a schedule of [Explore] has at most. Default 2;
// 1 with go test -short.
func Failures(n int) Option { return optionFunc(func(c *config) { c.failures = n }) }

// Schedules bounds the number of schedules that [Explore] tries. Default 2,000.
func Schedules(n int) Option { return optionFunc(func(c *config) { c.schedules = n }) }

// Within bounds the time, by the real clock, in which [Explore] begins
// schedules. Default one minute.
func Within(d time.Duration) Option { return optionFunc(func(c *config) { c.within = d }) }

// Seed sets the order in which the world lets the ready go on. Default 1. A run
// with the same seed and the same failures is the same run.
func Seed(n uint64) Option { return optionFunc(func(c *config) { c.seed = n }) }

// Config sets what the world's own apps are opened with, for a codec or limits
// of one's own: those of [World.Host] and that of [World.Context]. The name of
// the component is set by the world; without a Logger, warnings are kept with the
// run and shown if it fails.
func Config(cfg pawl.Config) Option { return optionFunc(func(c *config) { c.app = cfg }) }

// KeepInstances lets actors stay in memory from one outcome to the next, as they
// do in production. By default they are dropped each time, so that a plain field
// taken for state shows.
func KeepInstances() Option { return optionFunc(func(c *config) { c.keep = true }) }
