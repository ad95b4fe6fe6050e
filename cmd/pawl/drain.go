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

// drainSlack is what a component may need beyond its grace: it leaves, and its
// process ends.
const drainSlack = 30 * time.Second

func (c *cli) drainCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "drain [COMPONENT]", Short: "End a component: finish what runs, begin nothing, give the rest back", Args: args(0, 1),
		Long: `End a component: it begins nothing any more, finishes what runs, gives the rest back
to others, and leaves. A process whose component it is ends with it: a program in Go
by itself, pawl run with the exit code of its command, which gets SIGTERM. What still
runs after the grace is cut off, and retried elsewhere or later.

Without COMPONENT it is the only one that hosts actors. It returns when the component
has left.`,
		Example: `  pawl drain
  pawl drain shop-1 --grace 1m`,
		ValidArgsFunction: c.completeComponent,
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long what runs may go on; default: as the component has it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if grace < 0 {
			return usagef("--grace %v is negative", grace)
		}
		return c.with(cmd, func(cl *client.Client) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			} else {
				var err error
				if name, err = onlyComponent(cmd.Context(), cl); err != nil {
					return err
				}
			}
			if err := cl.Drain(cmd.Context(), name, grace); err != nil {
				// It may have ended before its answer came.
				_, away := errors.AsType[*client.Unreachable](err)
				if away || !gone(err) || c.awaitLeave(cmd.Context(), cl, name, time.Nanosecond) != nil {
					return err
				}
			}
			if err := c.awaitLeave(cmd.Context(), cl, name, grace); err != nil {
				return err
			}
			if c.format == "" {
				fmt.Fprintf(c.out, "drained %s\n", name)
				return nil
			}
			l := &list{}
			l.add(map[string]string{"component": name, "status": "drained"}, name, "")
			l.all = l.items[0]
			return c.show(l)
		})
	}
	return cmd
}

// onlyComponent names the component that hosts actors, if there is one such.
func onlyComponent(ctx context.Context, cl *client.Client) (string, error) {
	all, err := cl.Components(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, m := range all.Items {
		if len(m.Types) > 0 {
			names = append(names, m.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", &failure{exit: v1.ExitNotFound, text: "no component hosts actors", next: "pawl ps shows who has joined"}
	case 1:
		return names[0], nil
	}
	return "", usagef("there are %d components; say which: %s", len(names), strings.Join(names, ", "))
}

// awaitLeave returns when the component is a member no more. Where it was the
// only one of its engine, nobody answers then.
func (c *cli) awaitLeave(ctx context.Context, cl *client.Client, name string, grace time.Duration) error {
	if grace == 0 {
		grace = time.Minute // longer than any component's own, unless it was set
	}
	ctx, cancel := context.WithTimeout(ctx, grace+drainSlack)
	defer cancel()
	told := time.Now()
	for {
		all, err := cl.Components(ctx)
		switch {
		case ctx.Err() != nil:
			return &failure{
				exit: v1.ExitFailed, text: fmt.Sprintf("%s has not left yet: %v", name, context.Cause(ctx)),
				next: "pawl ps; it goes on draining, and pawl drain waits again",
			}
		case err != nil && gone(err):
			return nil
		case err != nil:
			return err
		}
		live := -1
		for _, m := range all.Items {
			if m.Name == name {
				live = m.Live
			}
		}
		if live < 0 {
			return nil
		}
		if time.Since(told) > time.Second && c.colour {
			fmt.Fprintf(c.errs, "%s: %d actors there, %d requests in the flow\n", name, live, all.Engine.Pending)
			told = time.Now()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// gone reports whether an error says that the one who answered has ended.
func gone(err error) bool {
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		return true
	}
	return errors.Is(err, engine.ErrOutcomeUnknown) || errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrFenced)
}

// completeComponent completes the names of components.
func (c *cli) completeComponent(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	cl, err := c.connect(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer cl.Close()
	all, err := cl.Components(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, m := range all.Items {
		words = append(words, m.Name)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
