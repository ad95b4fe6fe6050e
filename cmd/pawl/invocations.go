package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) invocationsCommand() *cobra.Command {
	cmd := noun("invocations", "List, look into and operate invocations",
		c.invocationsLs(), c.invocationsShow(), c.invocationsWait(),
		c.cancelCommand(), c.resumeCommand(), c.answerCommand(), c.skipCommand(),
	)
	cmd.Aliases = []string{"inv"}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "ls" {
			sub.ValidArgsFunction = c.completeInvocation
		}
	}
	return cmd
}

// filterFlags are the flags that select invocations.
func (c *cli) filterFlags(cmd *cobra.Command, f *client.Filter) {
	cmd.Flags().StringVar(&f.Type, "type", "", "of actors of this type")
	cmd.Flags().StringVar(&f.ID, "id", "", "of the actor with this id")
	cmd.Flags().StringVar(&f.Method, "method", "", "of this method")
	cmd.Flags().StringVar(&f.Status, "status", "", "scheduled, pending, running, parked, failed, done, error or canceled")
	cmd.Flags().StringVar(&f.Root, "root", "", "nested in this invocation, at any depth")
	cmd.Flags().StringVar(&f.Key, "key", "", "with this idempotency key")
	cmd.Flags().StringVar(&f.Since, "since", "", "created since then: 10m, or 2026-01-02T15:04:05Z")
	_ = cmd.RegisterFlagCompletionFunc("type", c.completeType)
	_ = cmd.RegisterFlagCompletionFunc("status", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, s := range v1.Statuses {
			words = append(words, string(s))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeInvocation completes the ids of the newest invocations.
func (c *cli) completeInvocation(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const most = 100
	cl, err := c.connect(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer cl.Close()
	var words []string
	for in, err := range cl.Invocations(cmd.Context(), client.Filter{}, most) {
		if err != nil {
			break
		}
		words = append(words, cobra.CompletionWithDesc(in.ID, in.Type+" "+in.Method+", "+string(in.Status)))
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func checkFilter(f client.Filter) error {
	if f.Status == "" {
		return nil
	}
	var names []string
	for _, s := range v1.Statuses {
		if string(s) == f.Status {
			return nil
		}
		names = append(names, string(s))
	}
	if near := v1.Nearest(f.Status, names); near != "" {
		return usagef("there is no status %s. Did you mean %s?", f.Status, near)
	}
	return usagef("there is no status %s; there is %s", f.Status, strings.Join(names, ", "))
}

func (c *cli) invocationsLs() *cobra.Command {
	var f client.Filter
	most := 0
	cmd := &cobra.Command{
		Use: "ls", Short: "List invocations, the newest first", Args: args(0, 0),
		Example: `  pawl invocations ls --status parked
  pawl invocations ls --type Account --id alice --since 10m
  pawl invocations ls --status failed -o id`,
	}
	c.filterFlags(cmd, &f)
	cmd.Flags().IntVar(&most, "limit", 50, "at most so many; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkFilter(f); err != nil {
			return err
		}
		return c.with(cmd, func(cl *client.Client) error {
			if f.Type != "" {
				if err := knownType(cmd.Context(), cl, f.Type); err != nil {
					return err
				}
			}
			return c.watched(cmd.Context(), func() (*list, error) {
				l := &list{empty: "there are no such invocations"}
				for in, err := range cl.Invocations(cmd.Context(), f, most) {
					if err != nil {
						return nil, err
					}
					addInvocation(l, &in)
				}
				if most > 0 && len(l.rows) == most {
					l.note = fmt.Sprintf("the newest %d; --limit 0 shows all", most)
				}
				return l, nil
			})
		})
	}
	return c.watchable(cmd)
}

func addInvocation(l *list, in *v1.Invocation) {
	l.head = []string{"ID", "STATUS", "ACTOR", "METHOD", "TRIES", "AGE", "OUTCOME"}
	outcome := brief(in.Value, 40)
	if in.Error != nil {
		outcome = brief([]byte(in.Error.Error()), 60)
	}
	if in.Status == engine.StatusScheduled {
		outcome = "due " + ago(in.Due)
	}
	l.add(*in, in.ID, statusColour(in.Status), in.ID, string(in.Status), in.Type+"/"+in.Actor, in.Method,
		strconv.FormatUint(uint64(in.Attempts), 10), ago(in.Created), outcome)
}

func statusColour(s engine.Status) colour {
	switch s {
	case engine.StatusParked, engine.StatusFailed, engine.StatusError:
		return red
	case engine.StatusRunning, engine.StatusPending, engine.StatusScheduled:
		return yellow
	case engine.StatusDone:
		return green
	}
	return dim
}

func (c *cli) invocationsShow() *cobra.Command {
	tree := false
	cmd := &cobra.Command{Use: "show ID...", Short: "Show all that is known of invocations", Args: args(1, -1)}
	cmd.Flags().BoolVar(&tree, "tree", false, "who waits for whom, from the outermost caller")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, func(cl *client.Client) error {
			l := &list{}
			for _, id := range args {
				if tree {
					t, err := cl.Tree(cmd.Context(), id)
					if err != nil {
						return err
					}
					if c.format == "" {
						c.tree(&t, 0)
					} else {
						l.add(t, t.ID, "")
					}
					continue
				}
				in, err := cl.Invocation(cmd.Context(), id)
				if err != nil {
					return err
				}
				if c.format == "" {
					c.describe(&in)
					continue
				}
				addInvocation(l, &in)
			}
			if c.format == "" {
				return nil
			}
			if len(args) == 1 {
				l.all = l.items[0]
			}
			return c.show(l)
		})
	}
	return cmd
}

// describe prints an invocation for people.
func (c *cli) describe(in *v1.Invocation) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.out, "%s %s\n", c.paint(dim, fmt.Sprintf("%-10s", name)), value)
		}
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		when := ago(t)
		if !strings.HasPrefix(when, "in ") {
			when += " ago"
		}
		return t.Format(time.RFC3339Nano) + " (" + when + ")"
	}
	line("id", in.ID)
	line("status", c.paint(statusColour(in.Status), string(in.Status)))
	line("actor", visible(in.Type+"/"+in.Actor))
	line("method", fmt.Sprintf("%s (%s, step %d)", in.Method, in.Kind, in.Step))
	line("attempts", fmt.Sprintf("%d, of which %d were lost with their component", in.Attempts, in.Lost))
	line("host", in.Host)
	line("created", at(in.Created))
	if in.Status == engine.StatusScheduled {
		line("due", at(in.Due))
	}
	line("ended", at(in.Ended))
	line("caller", in.Caller)
	if in.Root != in.Caller {
		line("root", in.Root)
	}
	line("callees", strings.Join(in.Callees, " "))
	line("waits for", strings.Join(in.WaitsFor, " "))
	line("input", pretty(in.Input))
	line("value", pretty(in.Value))
	if in.Error != nil {
		line("error", c.paint(red, in.Error.Error()))
		line("stack", strings.TrimRight(in.Error.Stack, "\n"))
	}
}

func pretty(b json.RawMessage) string {
	var out bytes.Buffer
	if len(b) == 0 || json.Indent(&out, b, strings.Repeat(" ", 11), "  ") != nil {
		return string(b)
	}
	return out.String()
}

func (c *cli) invocationsWait() *cobra.Command {
	wait := time.Duration(0)
	cmd := &cobra.Command{
		Use: "wait ID...", Short: "Wait for the outcomes of invocations and print their results", Args: args(1, -1),
	}
	waitFlag(cmd, &wait, "how long")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, func(cl *client.Client) error {
			for _, id := range args {
				r, err := cl.Wait(cmd.Context(), id, wait)
				if err != nil {
					return interrupted(id, err)
				}
				if err := c.result(r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}
