package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) remindersCommand() *cobra.Command {
	return noun("reminders", "List, set and remove the reminders of an actor",
		c.watchable(c.remindersLs()), c.remindersSet(), c.remindersRm())
}

func (c *cli) remindersLs() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls TYPE/ID", Short: "List the reminders of an actor", Args: args(1, 1), ValidArgsFunction: c.completeTarget,
	}
	ls.RunE = func(cmd *cobra.Command, args []string) error {
		return c.onActor(cmd, args[0], func(cl *client.Client, a engine.Actor) error {
			return c.watched(cmd.Context(), func() (*list, error) {
				rs, err := cl.Reminders(cmd.Context(), a)
				if err != nil {
					return nil, err
				}
				l := &list{head: []string{"NAME", "METHOD", "NEXT", "EVERY", "INPUT"}, empty: a.String() + " has no reminders"}
				for _, r := range rs {
					l.add(r, r.Name, "", r.Name, r.Method, r.Next.Local().Format(time.DateTime), r.Every, brief(r.Input, 60))
				}
				return l, nil
			})
		})
	}
	return ls
}

func (c *cli) remindersSet() *cobra.Command {
	var in v1.SetReminder
	anyway := false
	cmd := &cobra.Command{
		Use: "set TYPE/ID NAME METHOD [JSON|@file|-]", Short: "Set a reminder, replacing one of the same name", Args: args(3, 4),
		ValidArgsFunction: c.completeTarget,
	}
	cmd.Flags().StringVar(&in.Delay, "delay", "", "until it first fires, such as 10m")
	cmd.Flags().StringVar(&in.At, "at", "", "when it first fires, such as 2026-01-02T15:04:05Z")
	cmd.Flags().StringVar(&in.Every, "every", "", "the period, if it repeats")
	cmd.Flags().StringVar(&in.Misfire, "misfire", "", "what becomes of firings due while nothing ran: once (the default), all or none")
	anywayFlag(cmd, &anyway)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in.Method = args[2]
		if len(args) == 4 {
			b, err := c.inputArg(args[3])
			if err != nil {
				return err
			}
			in.Input = json.RawMessage(b)
		}
		a, err := actorArg(args[0])
		if err != nil {
			return err
		}
		return c.with(cmd, func(cl *client.Client) error {
			if err := c.sendable(cmd.Context(), cl, a.Type, anyway); err != nil {
				return err
			}
			if err := cl.Remind(cmd.Context(), a, args[1], in); err != nil {
				return err
			}
			return c.did("set", args[1]+" of "+a.String())
		})
	}
	return cmd
}

func (c *cli) remindersRm() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm TYPE/ID NAME...", Short: "Remove reminders", Args: args(2, -1), ValidArgsFunction: c.completeTarget,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.onActor(cmd, args[0], func(cl *client.Client, a engine.Actor) error {
			for _, name := range args[1:] {
				if err := cl.Unremind(cmd.Context(), a, name); err != nil {
					return err
				}
				if err := c.did("removed", name+" of "+a.String()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}

// onActor does something to an actor of a type that is known.
func (c *cli) onActor(cmd *cobra.Command, target string, do func(*client.Client, engine.Actor) error) error {
	a, err := actorArg(target)
	if err != nil {
		return err
	}
	return c.with(cmd, func(cl *client.Client) error {
		if err := knownType(cmd.Context(), cl, a.Type); err != nil {
			return err
		}
		return do(cl, a)
	})
}
