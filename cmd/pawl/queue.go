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
	withOurExits(queue)
	return queue
}

// withOurExits gives all that is below a command of package queuecmd the exit
// codes of this program, and its word for a wrong number of arguments.
func withOurExits(parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		withOurExits(cmd)
		if cmd.HasSubCommands() {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, noun(cmd.Name(), "").RunE
			continue
		}
		run, check := cmd.RunE, cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check != nil && check(cmd, args) != nil {
				return usagef("use it as: %s", cmd.UseLine())
			}
			return nil
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			switch {
			case errors.Is(err, queuecmd.ErrDamaged):
				return &failure{exit: v1.ExitFound, text: err.Error()}
			case errors.Is(err, queuecmd.ErrUsage):
				return &failure{exit: v1.ExitUsage, text: err.Error(), next: cmd.CommandPath() + " --help"}
			}
			return err
		}
	}
}
