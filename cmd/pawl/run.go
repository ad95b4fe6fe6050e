package main

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/sidecar"
	"github.com/pawl-go/pawl/sidecar/pair"
)

// runCommand runs an application process with its runtime. The flag --watch
// makes it the watcher of such a pair instead.
func (c *cli) runCommand() *cobra.Command {
	cfg := sidecar.Config{}
	watch, durable := false, ""
	cmd := &cobra.Command{
		Use:   "run --app NAME [flags] -- COMMAND [ARGS]",
		Short: "Run an application process, in any language, with its runtime",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return pair.Watch(c.in)
			}
			if cfg.App == "" {
				return usagef("say which application it is (--app NAME): %s", cmd.UseLine())
			}
			if len(args) == 0 {
				return usagef("say what to run, behind two dashes: %s", cmd.UseLine())
			}
			if durable != "" {
				cfg.Engine += separator(cfg.Engine) + "durability=" + durable
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.Command, cfg.Watcher = args, []string{self, "run", "--watch"}
			cfg.Stdin, cfg.Stdout, cfg.Stderr = c.childInput(), c.out, c.errs
			cfg.Logger = slog.New(slog.NewTextHandler(c.errs, nil))
			code, err := sidecar.Run(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if code != 0 {
				os.Exit(code)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.App, "app", "", "name of the application (required)")
	f.StringSliceVar(&cfg.Actors, "actors", nil, "actor types that the command hosts")
	f.StringVar(&cfg.Service, "service", "", "service that the command is")
	f.StringVar(&cfg.Engine, "engine", "local:./data", "URL of the engine")
	f.StringVar(&durable, "durability", "", "of the engine: process, disk; default the engine's own")
	f.DurationVar(&cfg.Grace, "grace", 0, "how long what runs may go on at the end (default 10s)")
	f.DurationVar(&cfg.MissingTimeout, "missing-timeout", 0, "how long to wait for an actor type that nobody hosts (default 2m); with pawl serve its own counts")
	f.DurationVar(&cfg.BusyTimeout, "busy-timeout", 0, "how long a call waits for its turn on an actor; negative: for ever (default 2m)")
	f.DurationVar(&cfg.IdleAfter, "idle-after", 0, "how long an actor may be idle before the command lets it go (default 10s)")
	f.DurationVar(&cfg.RequestTimeout, "request-timeout", 0, "what KAR_REQUEST_TIMEOUT tells clients (default none)")
	f.BoolVar(&cfg.H2C, "h2c", false, "speak HTTP/2 without TLS to the command")
	f.IntVar(&cfg.AppPort, "app-port", 0, "port at which the command listens (default a free one)")
	f.IntVar(&cfg.RuntimePort, "runtime-port", 0, "port of the runtime (default a free one)")
	f.BoolVar(&watch, "watch", false, "be the watcher of a pair")
	_ = f.MarkHidden("watch") // it is there
	return cmd
}

// separator stands before the next parameter of a URL.
func separator(engineURL string) string {
	if strings.Contains(engineURL, "?") {
		return "&"
	}
	return "?"
}

// childInput is what the command reads: ours, but for a terminal, which
// belongs to another process group than the command's.
func (c *cli) childInput() io.Reader {
	if isTerminal(c.in) {
		return nil
	}
	return c.in
}
