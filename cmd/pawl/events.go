package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) eventsCommand() *cobra.Command {
	var f client.EventFilter
	var actor string
	follow := false
	cmd := &cobra.Command{
		Use: "events", Short: "Show what the application has done, and does", Args: args(0, 0),
		Long: `Show what the application has done, and does.

Without -f: what is kept, from the oldest on. With -f: what happens from now on,
also over restarts of the application. --after goes on behind an event.`,
		Example: `  pawl events -f
  pawl events -f --actor Account/alice
  pawl events --event failure,park -o jsonl`,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what happens, until interrupted")
	flags.StringVar(&actor, "actor", "", "of the actor TYPE/ID")
	flags.StringVar(&f.Type, "type", "", "of actors of this type")
	flags.StringVar(&f.Method, "method", "", "of this method")
	flags.StringVar(&f.Invocation, "invocation", "", "of the invocation with this id")
	flags.StringSliceVar(&f.Kinds, "event", nil, "of these kinds: send, outcome, failure, park, ...")
	flags.StringVar(&f.After, "after", "", "behind this position; 0: from the oldest kept")
	flags.BoolVar(&f.All, "all", false, "of Pawl's own types too")
	_ = cmd.RegisterFlagCompletionFunc("event", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, k := range engine.EventKinds {
			words = append(words, string(k))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("actor", c.completeFlagActor)
	_ = cmd.RegisterFlagCompletionFunc("type", c.completeType)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if actor != "" {
			a, err := actorArg(actor)
			if err != nil {
				return err
			}
			if f.Type != "" && f.Type != a.Type {
				return usagef("either --actor or --type")
			}
			f.Type, f.ID = a.Type, a.ID
		}
		if f.Past = !follow; f.Past && f.After == "" {
			f.After = "0"
		}
		return c.with(cmd, func(cl *client.Client) error {
			if f.Type != "" {
				if err := knownType(cmd.Context(), cl, f.Type); err != nil {
					return err
				}
			}
			if c.format == "json" && f.Past {
				return c.pastEvents(cmd.Context(), cl, &f)
			}
			return c.followEvents(cmd.Context(), cl, &f)
		})
	}
	return cmd
}

// pastEvents shows what has happened as one JSON document.
func (c *cli) pastEvents(ctx context.Context, cl *client.Client, f *client.EventFilter) error {
	l := &list{}
	for e, err := range cl.Events(ctx, f) {
		if err != nil {
			return err
		}
		l.add(e, e.ID, "")
	}
	return c.show(l)
}

// followEvents prints events as they come. One that follows outlives the
// application: it takes the stream up when that is there again.
func (c *cli) followEvents(ctx context.Context, cl *client.Client, f *client.EventFilter) error {
	if c.format == "" {
		c.eventLine("EVENT", "ACTOR", "METHOD", "INVOCATION", "TIME", "")
	}
	begun, away := false, false
	for {
		err := c.oneStream(ctx, cl, f, &begun, &away)
		switch {
		case ctx.Err() != nil && !f.Past: // the way to end it
			return nil
		case err == nil || !begun || !broken(err):
			return err
		}
		if !away {
			fmt.Fprintln(c.errs, c.paint(yellow, "pawl: ")+err.Error()+"; waiting for it to come back")
			away = true
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// oneStream prints the events of one stream.
func (c *cli) oneStream(ctx context.Context, cl *client.Client, f *client.EventFilter, begun, away *bool) error {
	for e, err := range cl.Events(ctx, f) {
		if err != nil {
			*begun = *begun || f.After != ""
			return err
		}
		*begun, *away = true, false
		if err := c.event(&e); err != nil {
			return err
		}
	}
	return nil
}

// broken reports whether an error is one of the way to the application, or of
// an application that ends.
func broken(err error) bool {
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		return true
	}
	return errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrFenced)
}

func (c *cli) event(e *v1.Event) error {
	switch c.format {
	case "json", "jsonl":
		return c.json(e, "")
	case "id":
		if e.ID != "" {
			fmt.Fprintln(c.out, e.ID)
		}
		return nil
	}
	actor, at := e.Component, ""
	if e.Path != "" {
		actor = e.Type + "/" + e.Actor
	}
	if !e.Time.IsZero() {
		at = e.Time.Local().Format("15:04:05.000")
	}
	c.eventLine(string(e.Event), actor, e.Method, e.ID, at, eventDetail(e))
	return nil
}

// eventDetail is what else there is to say of an event, in a line.
func eventDetail(e *v1.Event) string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if e.Kind != "" {
		say("%s", e.Kind)
	}
	if e.Caller != "" {
		say("from %s", e.Caller)
	}
	if e.ToType != "" {
		say("to %s/%s %s", e.ToType, e.ToActor, e.ToMethod)
	}
	if e.Attempt > 0 {
		say("attempt %d", e.Attempt)
	}
	if e.Writes > 0 {
		say("%d written", e.Writes)
	}
	if e.Error != nil {
		say("%s", strings.TrimPrefix(e.Error.Code+": "+e.Error.Message, ": "))
	}
	if e.Kept {
		say("(kept: pawl invocations resume)")
	}
	if e.Name != "" {
		say("%s", e.Name)
	}
	if !e.Due.IsZero() {
		say("due %s", e.Due.Local().Format(time.DateTime))
	}
	if len(e.Types) > 0 {
		say("hosts %s", strings.Join(e.Types, ", "))
	}
	if e.Epoch > 0 {
		say("epoch %d", e.Epoch)
	}
	return strings.Join(words, " ")
}

// eventLine prints a line of a table whose rows are not known yet.
func (c *cli) eventLine(cells ...string) {
	width := []int{9, 24, 14, 10, 12, 0}
	for i := range cells {
		cells[i] = visible(cells[i])
		width[i] = max(width[i], len([]rune(cells[i])))
	}
	c.line(cells, width, func(i int) colour {
		switch {
		case cells[0] == "EVENT":
			return dim
		case i > 0:
			return ""
		}
		switch engine.EventKind(cells[0]) {
		case engine.EventFailure, engine.EventPark, engine.EventLost:
			return red
		case engine.EventOutcome:
			return green
		case engine.EventCancel, engine.EventRetry, engine.EventPause:
			return yellow
		}
		return ""
	})
}
