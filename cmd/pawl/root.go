package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/internal/v1"
)

// cli is what all commands share: where they read and write, and the flags
// that every command takes.
type cli struct {
	in        io.Reader
	out, errs io.Writer
	colour    bool
	getenv    func(string) string

	engine    string
	tokenFile string
	format    string
	watch     bool
}

// five lines to copy: what a bare pawl says.
const fiveLines = `pawl run --app bank --actors Account -- python3 bank.py # an application in ./data; one in Go needs no pawl run
pawl types                                      # what runs in ./data, and its methods
pawl call Account/alice Deposit '{"amount": 5}' # call a method, wait for its result
pawl state ls Account/alice                     # look into an actor
pawl invocations ls -w                          # what happens now
`

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "pawl",
		Short:         "Call, look into and operate a running Pawl application",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		fmt.Fprint(c.out, fiveLines)
		fmt.Fprintln(c.errs, "\nAll commands: pawl help")
		return nil
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return c.checkFormat() }
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.SetFlagErrorFunc(badFlag)
	root.CompletionOptions.HiddenDefaultCmd = false
	flags := root.PersistentFlags()
	flags.StringVar(&c.engine, "engine", "", "where the application is: a data directory, unix:PATH, http(s)://HOST:PORT or pawl://HOST:PORT; else PAWL_ENGINE")
	flags.StringVar(&c.tokenFile, "token-file", "", "the file with the token of http(s)://HOST:PORT; else PAWL_TOKEN")
	flags.StringVarP(&c.format, "output", "o", "", "table for people (the default); json, jsonl or id for programs")
	root.AddCommand(
		c.runCommand(), c.serveCommand(), c.callCommand(), c.tellCommand(),
		c.psCommand(), c.typesCommand(), c.eventsCommand(),
		c.invocationsCommand(), c.stateCommand(), c.actorsCommand(),
		c.remindersCommand(), c.drainCommand(), c.purgeCommand(), c.doctorCommand(),
		c.queueCommand(), c.meshCommand(), c.benchCommand(), c.versionCommand(),
	)
	return root
}

// noun makes a command that only has commands below it.
func noun(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return usagef("%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
	}
	cmd.AddCommand(below...)
	return cmd
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
			names = append(names, sub.Aliases...)
		}
	}
	if near := v1.Nearest(word, names); near != "" {
		return usagef("%s has no command %s. Did you mean %s?", cmd.CommandPath(), word, near)
	}
	return usagef("%s has no command %s; it has %s", cmd.CommandPath(), word, strings.Join(names, ", "))
}

// args makes cobra's complaint about the number of arguments ours.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("use it as: %s", cmd.UseLine())
		}
		return nil
	}
}
