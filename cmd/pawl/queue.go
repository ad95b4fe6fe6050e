package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/queue/queuecmd"
)

// queueCommand is the command line of package queue, with the exit codes of
// this one. It needs no running application.
func (c *cli) queueCommand() *cobra.Command {
	queue := queuecmd.Command()
	queue.Args = cobra.ArbitraryArgs
	queue.RunE = noun("queue", "").RunE
	for _, cmd := range queue.Commands() {
		run, check := cmd.RunE, cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check != nil && check(cmd, args) != nil {
				return usagef("use it as: %s", cmd.UseLine())
			}
			return nil
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if errors.Is(err, queuecmd.ErrDamaged) {
				return &failure{exit: v1.ExitFound, text: err.Error()}
			}
			return err
		}
	}
	return queue
}
