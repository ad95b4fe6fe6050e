package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) stateCommand() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls TYPE/ID", Short: "List the recorded state of an actor", Args: args(1, 1),
		ValidArgsFunction: c.completeTarget,
	}
	ls.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := actorArg(args[0])
		if err != nil {
			return err
		}
		return c.with(cmd, func(cl *client.Client) error {
			if err := knownType(cmd.Context(), cl, a.Type); err != nil {
				return err
			}
			return c.watched(cmd.Context(), func() (*list, error) {
				cells, err := cl.State(cmd.Context(), a)
				if err != nil {
					return nil, err
				}
				l := &list{head: []string{"KEY", "VALUE"}, empty: a.String() + " has no recorded state"}
				for _, cell := range cells {
					if !cell.Map {
						l.add(cell, cell.Key, "", cell.Key, brief(cell.Value, 100))
						continue
					}
					for _, e := range cell.Entries {
						l.add(e, cell.Key, "", cell.Key+"["+e.Key+"]", brief(e.Value, 100))
					}
					if cell.More {
						l.add(cell, cell.Key, "", cell.Key+"[...]", "more: pawl state get "+args[0]+" "+cell.Key)
					}
				}
				l.all = cells
				return l, nil
			})
		})
	}
	get := &cobra.Command{
		Use: "get TYPE/ID KEY [ENTRY]", Short: "Print one value: a cell, a map, or an entry of a map", Args: args(2, 3),
		ValidArgsFunction: c.completeTarget,
	}
	get.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := actorArg(args[0])
		if err != nil {
			return err
		}
		entry := ""
		if len(args) == 3 {
			entry = args[2]
		}
		return c.with(cmd, func(cl *client.Client) error {
			b, err := cl.Cell(cmd.Context(), a, args[1], entry)
			if p, ok := err.(*v1.Problem); ok && p.Exit() == v1.ExitNotFound { //nolint:errorlint // the client's own
				return c.noCell(cmd, cl, args[0], args[1], p)
			}
			if err != nil {
				return err
			}
			if json.Valid(b) && c.format == "" {
				b = []byte(strings.TrimSpace(string(b)))
			}
			_, err = fmt.Fprintf(c.out, "%s\n", b)
			return err
		})
	}
	return noun("state", "Look into an actor, and change its state", c.watchable(ls), get, c.stateSet(), c.stateRm())
}

func (c *cli) stateSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set TYPE/ID KEY [ENTRY] JSON|@file|-", Short: "Set a cell, or an entry of a map, to a value", Args: args(3, 4),
		ValidArgsFunction: c.completeTarget,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		last := len(args) - 1
		value, err := c.inputArg(args[last])
		if err != nil {
			return err
		}
		return c.onCell(cmd, args[:last], "", func(cl *client.Client, a engine.Actor, key, entry string) error {
			if err := cl.SetCell(cmd.Context(), a, key, entry, value); err != nil {
				return err
			}
			return c.did("set", cellName(a, key, entry))
		})
	}
	return cmd
}

func (c *cli) stateRm() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "rm TYPE/ID KEY [ENTRY]", Short: "Remove a cell, a map, or an entry of a map", Args: args(2, 3),
		ValidArgsFunction: c.completeTarget,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		question := "Remove " + strings.Join(args[1:], " ") + " of " + args[0] + "?"
		if yes {
			question = ""
		}
		return c.onCell(cmd, args, question, func(cl *client.Client, a engine.Actor, key, entry string) error {
			if err := cl.DropCell(cmd.Context(), a, key, entry); err != nil {
				return err
			}
			return c.did("removed", cellName(a, key, entry))
		})
	}
	return cmd
}

// cellName says which cell of an actor, or which entry of a map, it is.
func cellName(a engine.Actor, key, entry string) string {
	if entry != "" {
		key += "[" + entry + "]"
	}
	return a.String() + " " + key
}

// onCell does something to what TYPE/ID KEY [ENTRY] names, after a question if
// there is one.
func (c *cli) onCell(cmd *cobra.Command, args []string, question string,
	do func(cl *client.Client, a engine.Actor, key, entry string) error,
) error {
	a, err := actorArg(args[0])
	if err != nil {
		return err
	}
	entry := ""
	if len(args) == 3 {
		entry = args[2]
	}
	return c.with(cmd, func(cl *client.Client) error {
		if err := knownType(cmd.Context(), cl, a.Type); err != nil {
			return err
		}
		if question != "" {
			if err := c.confirm(question); err != nil {
				return err
			}
		}
		return do(cl, a, args[1], entry)
	})
}

// noCell guesses which cell was meant.
func (c *cli) noCell(cmd *cobra.Command, cl *client.Client, actor, key string, p *v1.Problem) error {
	a, err := actorArg(actor)
	if err != nil {
		return err
	}
	if err := knownType(cmd.Context(), cl, a.Type); err != nil {
		return err
	}
	f := &failure{exit: v1.ExitNotFound, text: p.Detail, next: "pawl state ls " + actor}
	cells, err := cl.State(cmd.Context(), a)
	if err != nil {
		return f // the first error says more
	}
	var names []string
	for _, cell := range cells {
		names = append(names, cell.Key)
	}
	if near := v1.Nearest(key, names); near != "" && near != key {
		f.text += ". Did you mean " + near + "?"
	}
	return f
}
