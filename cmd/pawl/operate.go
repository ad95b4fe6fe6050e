package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

// bulk is an operator's act on invocations, by their ids or by a filter.
type bulk struct {
	verb, short string
	done        string          // what the invocation is then: "canceled"
	ends        bool            // it ends the invocation, which running code may delay
	on          []engine.Status // what a filter selects, if it names no status
	do          func(cmd *cobra.Command, cl *client.Client, id string) (client.Act, error)
	many        func() v1.Many // what it says of many, beside their ids
}

func (c *cli) bulkCommand(b bulk) *cobra.Command {
	var f client.Filter
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use: b.verb + " ID... | --type T --status S ...", Short: b.short, Args: cobra.ArbitraryArgs,
		Example: fmt.Sprintf("  pawl invocations %[1]s 2-1a\n  pawl invocations %[1]s --type Account --since 10m --dry-run", b.verb),
	}
	c.filterFlags(cmd, &f)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which invocations a filter selects, and do nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		switch {
		case len(ids) == 0 && f.Empty():
			return usagef("%s needs ids, or a filter such as --type or --status", cmd.CommandPath())
		case len(ids) > 0 && !f.Empty():
			return usagef("%s takes either ids or a filter", cmd.CommandPath())
		}
		if err := checkFilter(f); err != nil {
			return err
		}
		return c.with(cmd, func(cl *client.Client) error {
			if !f.Empty() {
				l, err := selected(cmd, cl, f, b.on)
				if err != nil {
					return err
				}
				if dryRun || len(l.rows) == 0 {
					return c.show(l)
				}
				for _, r := range l.rows {
					ids = append(ids, r.id)
				}
				if !yes {
					c.table(l)
					if err := c.confirm(fmt.Sprintf("%s %d invocation(s)?", b.verb, len(ids))); err != nil {
						return err
					}
				}
			} else if dryRun {
				return usagef("--dry-run goes with a filter")
			}
			return c.doAll(cmd, cl, b, ids)
		})
	}
	return cmd
}

// selected lists what a filter selects of what the act is for.
func selected(cmd *cobra.Command, cl *client.Client, f client.Filter, on []engine.Status) (*list, error) {
	l := &list{empty: "there are no such invocations"}
	for in, err := range cl.Invocations(cmd.Context(), f, 0) {
		if err != nil {
			return nil, err
		}
		if f.Status != "" || slices.Contains(on, in.Status) {
			addInvocation(l, &in)
		}
	}
	return l, nil
}

// doAll goes on after an error; the first one decides on the exit code.
func (c *cli) doAll(cmd *cobra.Command, cl *client.Client, b bulk, ids []string) error {
	if len(ids) == 1 {
		act, err := b.do(cmd, cl, ids[0])
		if err != nil {
			return fmt.Errorf("%s %s: %w", b.verb, ids[0], err)
		}
		return c.acted(b, ids[0], &act)
	}
	p := progress{c: c, verb: b.done, all: len(ids)}
	for part := range slices.Chunk(ids, manyAtOnce) {
		in := b.many()
		in.IDs = part
		out, err := cl.Many(cmd.Context(), b.verb, in)
		if err != nil {
			return err
		}
		for _, one := range out.Items {
			detail := ""
			if b.ends && one.Status == engine.StatusRunning {
				detail = " when its code has returned (--force does not wait for it)"
			}
			if err := p.did(one.ID, detail, one); err != nil {
				return err
			}
		}
		for _, id := range part {
			if why := out.Refused[id]; why != nil {
				p.refused(fmt.Errorf("%s %s: %w", b.verb, id, why))
			}
		}
		p.tell()
	}
	return p.end()
}

func (c *cli) acted(b bulk, id string, act *client.Act) error {
	switch {
	case c.format == "id":
		fmt.Fprintln(c.out, id)
	case c.format != "" && act.Dropped:
		return c.json(map[string]string{"id": id, "status": "dropped"}, "")
	case c.format != "":
		return c.json(act.Invocation, "")
	case b.ends && act.Pending && act.Status == engine.StatusRunning:
		fmt.Fprintf(c.out, "%s: will be %s when its code has returned (--force does not wait for it)\n", id, b.done)
	default:
		fmt.Fprintf(c.out, "%s %s\n", id, b.done)
	}
	return nil
}

var notOver = []engine.Status{
	engine.StatusScheduled, engine.StatusPending, engine.StatusRunning, engine.StatusParked, engine.StatusFailed,
}

func (c *cli) cancelCommand() *cobra.Command {
	var in v1.Cancel
	cmd := c.bulkCommand(bulk{
		verb: "cancel", short: "End invocations with the error canceled", done: "canceled", ends: true, on: notOver,
		do: func(cmd *cobra.Command, cl *client.Client, id string) (client.Act, error) {
			return cl.Cancel(cmd.Context(), id, in)
		},
		many: func() v1.Many { return v1.Many{Cancel: in} },
	})
	cmd.Flags().StringVar(&in.Reason, "reason", "", "said to whoever waits")
	cmd.Flags().BoolVar(&in.Force, "force", false, "do not wait for running code, its callees included: what it does counts no more; each actor stays locked until its code returns")
	return cmd
}

func (c *cli) resumeCommand() *cobra.Command {
	return c.bulkCommand(bulk{
		verb: "resume", short: "Run parked or failed invocations again", done: "resumed",
		on: []engine.Status{engine.StatusParked, engine.StatusFailed},
		do: func(cmd *cobra.Command, cl *client.Client, id string) (client.Act, error) {
			return cl.Resume(cmd.Context(), id)
		},
		many: func() v1.Many { return v1.Many{} },
	})
}

func (c *cli) skipCommand() *cobra.Command {
	return c.bulkCommand(bulk{
		verb: "skip", short: "Drop parked steps and release the actors that they hold", done: "skipped",
		on: []engine.Status{engine.StatusParked},
		do: func(cmd *cobra.Command, cl *client.Client, id string) (client.Act, error) {
			return cl.Skip(cmd.Context(), id)
		},
		many: func() v1.Many { return v1.Many{} },
	})
}

func (c *cli) answerCommand() *cobra.Command {
	var in v1.Answer
	var value, message, code string
	cmd := c.bulkCommand(bulk{
		verb: "answer", short: "End invocations with a value or an error of your own", done: "answered", ends: true, on: notOver,
		do: func(cmd *cobra.Command, cl *client.Client, id string) (client.Act, error) {
			return cl.Answer(cmd.Context(), id, in)
		},
		many: func() v1.Many { return v1.Many{Answer: in} },
	})
	cmd.Flags().StringVar(&value, "value", "", "the result as JSON, @file or -")
	cmd.Flags().StringVar(&message, "error", "", "the message of an error")
	cmd.Flags().StringVar(&code, "code", "", "the code of the error, as the application registers it")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case message != "" && value != "":
			return usagef("either --value or --error")
		case code != "" && message == "":
			return usagef("--code goes with --error")
		case message != "":
			in.Error = &v1.AnswerError{Code: code, Message: message}
		case value != "":
			b, err := c.inputArg(value)
			in.Value = json.RawMessage(b)
			return err
		}
		return nil
	}
	return cmd
}
