package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) actorsCommand() *cobra.Command {
	most := 0
	ls := &cobra.Command{Use: "ls TYPE", Short: "List the actors of a type that have state or pending requests", Args: args(1, 1), ValidArgsFunction: c.completeType}
	ls.Flags().IntVar(&most, "limit", 100, "at most so many; 0: all")
	ls.RunE = func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, func(cl *client.Client) error {
			if err := knownType(cmd.Context(), cl, args[0]); err != nil {
				return err
			}
			return c.watched(cmd.Context(), func() (*list, error) {
				l := &list{head: []string{"ACTOR", "STATUS"}, empty: "there is no " + args[0]}
				for a, err := range cl.Actors(cmd.Context(), args[0], most) {
					if err != nil {
						return nil, err
					}
					status := ""
					if a.Paused {
						status = "paused"
					}
					l.add(a, a.Type+"/"+a.ID, yellow, a.Type+"/"+a.ID, status)
				}
				if most > 0 && len(l.rows) == most {
					l.note = fmt.Sprintf("the first %d; --limit 0 shows all", most)
				}
				return l, nil
			})
		})
	}
	return noun("actors", "Pause, unpause and purge actors",
		c.watchable(ls),
		c.actorAct("pause", "Begin nothing on the actors until they are unpaused", "paused", "", (*client.Client).Pause),
		c.actorAct("unpause", "Let the actors go on", "unpaused", "", (*client.Client).Unpause),
		c.actorAct("deactivate", "Drop the actors from memory; their state stays", "deactivated", "", (*client.Client).Deactivate),
		c.actorAct("purge", "Cancel what waits for the actors, and drop their state and reminders", "purged",
			"Drop the state of %d actor(s)?", (*client.Client).Purge),
	)
}

// actorAct makes a command that does something to actors. A question, if there
// is one, is asked before.
func (c *cli) actorAct(verb, short, done, question string, do func(*client.Client, context.Context, engine.Actor) error) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: verb + " TYPE/ID...", Short: short, Args: args(1, -1),
		ValidArgsFunction: c.completeTarget,
	}
	if question != "" {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var actors []engine.Actor
		for _, arg := range args {
			a, err := actorArg(arg)
			if err != nil {
				return err
			}
			actors = append(actors, a)
		}
		return c.with(cmd, func(cl *client.Client) error {
			for _, a := range actors {
				if err := knownType(cmd.Context(), cl, a.Type); err != nil {
					return err
				}
			}
			if question != "" && !yes {
				if err := c.confirm(fmt.Sprintf(question, len(actors))); err != nil {
					return err
				}
			}
			for _, a := range actors {
				if err := do(cl, cmd.Context(), a); err != nil {
					return fmt.Errorf("%s %s: %w", verb, a, err)
				}
				if err := c.did(done, a.String()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}
