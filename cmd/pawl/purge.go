package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) purgeCommand() *cobra.Command {
	var kind string
	var older time.Duration
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use: "purge TYPE/ID... | --type T --older D", Short: "Drop actors: cancel what waits for them, and drop their state and reminders", Args: args(0, -1),
		Long: `Drop actors: what waits for them is canceled, their state, reminders and subscriptions
are dropped. It is refused for an actor on which code runs.

With --type and --older it is those of a type for which there was nothing to do for so
long. That is read from the journal, which has to reach back so far (retain= of the
engine's URL).`,
		Example: `  pawl purge Cart/17
  pawl purge --type Cart --older 24h --dry-run`,
		ValidArgsFunction: c.completeTarget,
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "type", "", "actors of this type, with --older")
	flags.DurationVar(&older, "older", 0, "for which there was nothing to do for so long")
	flags.BoolVar(&dryRun, "dry-run", false, "show which actors it would be, and do nothing")
	flags.BoolVar(&yes, "yes", false, "do not ask")
	_ = cmd.RegisterFlagCompletionFunc("type", c.completeType)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && (kind != "" || older != 0):
			return usagef("%s takes either actors, or --type and --older", cmd.CommandPath())
		case len(args) == 0 && (kind == "" || older <= 0):
			return usagef("%s needs actors, or --type and --older", cmd.CommandPath())
		}
		return c.with(cmd, func(cl *client.Client) error {
			actors, err := purgeable(cmd, cl, args, kind, older)
			if err != nil {
				return err
			}
			l := &list{head: []string{"ACTOR"}, empty: "there are no such actors"}
			for _, a := range actors {
				l.add(v1.Actor{Type: a.Type, ID: a.ID, Path: v1.ActorPath(a)}, a.String(), "", a.String())
			}
			if dryRun || len(actors) == 0 {
				return c.show(l)
			}
			if !yes {
				c.table(l)
				if err := c.confirm(fmt.Sprintf("Drop the state of %d actor(s)?", len(actors))); err != nil {
					return err
				}
			}
			return c.purge(cmd, cl, actors)
		})
	}
	return cmd
}

// purgeable are the actors that were named, or those that are idle for so long.
func purgeable(cmd *cobra.Command, cl *client.Client, args []string, kind string, older time.Duration) (actors []engine.Actor, err error) {
	for _, arg := range args {
		a, err := actorArg(arg)
		if err != nil {
			return nil, err
		}
		if err := knownType(cmd.Context(), cl, a.Type); err != nil {
			return nil, err
		}
		actors = append(actors, a)
	}
	if kind == "" {
		return actors, nil
	}
	if err := knownType(cmd.Context(), cl, kind); err != nil {
		return nil, err
	}
	out, err := cl.PurgeMany(cmd.Context(), v1.PurgeMany{Type: kind, Older: older.String(), DryRun: true})
	for _, one := range out.Items {
		actors = append(actors, engine.Actor{Type: kind, ID: one.ID})
	}
	return actors, err
}

// manyAtOnce is how many one request acts on, so that there is progress to tell.
const manyAtOnce = 200

// purge purges actors, in parts. It goes on after a refusal; the first one
// decides on the exit code.
func (c *cli) purge(cmd *cobra.Command, cl *client.Client, actors []engine.Actor) error {
	p := progress{c: c, verb: "purged", all: len(actors)}
	for len(actors) > 0 {
		part := v1.PurgeMany{Type: actors[0].Type}
		for len(actors) > 0 && len(part.IDs) < manyAtOnce && actors[0].Type == part.Type {
			part.IDs, actors = append(part.IDs, actors[0].ID), actors[1:]
		}
		out, err := cl.PurgeMany(cmd.Context(), part)
		if err != nil {
			return err
		}
		for _, one := range out.Items {
			a := engine.Actor{Type: part.Type, ID: one.ID}
			if err := p.did(a.String(), "", v1.Actor{Type: a.Type, ID: a.ID, Path: v1.ActorPath(a)}); err != nil {
				return err
			}
		}
		for id, why := range out.Refused {
			p.refused(fmt.Errorf("purge %s/%s: %w", part.Type, id, why))
		}
		p.tell()
	}
	return p.end()
}

// progress tells how far an act on many is, and what it could not do.
type progress struct {
	c         *cli
	verb      string
	all, done int
	failed    int
	first     error
}

// did tells of one that was done: a line for people, an item for programs.
func (p *progress) did(id, detail string, item any) error {
	p.done++
	switch p.c.format {
	case "":
		fmt.Fprintf(p.c.out, "%s %s%s\n", id, p.verb, detail)
	case "id":
		fmt.Fprintln(p.c.out, id)
	default:
		return p.c.json(item, "")
	}
	return nil
}

// refused tells of one that was not done; of the first one at the end.
func (p *progress) refused(err error) {
	p.failed++
	if p.first == nil {
		p.first = err
		return
	}
	fmt.Fprintln(p.c.errs, err)
}

// tell says how far it is, if that is far from the end.
func (p *progress) tell() {
	if n := p.done + p.failed; n < p.all && p.c.colour {
		fmt.Fprintf(p.c.errs, "%d of %d\n", n, p.all)
	}
}

func (p *progress) end() error {
	if p.failed > 0 && p.all > 1 {
		fmt.Fprintf(p.c.errs, "%d of %d failed\n", p.failed, p.all)
	}
	return p.first
}
