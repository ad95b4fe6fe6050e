package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) callCommand() *cobra.Command {
	var key string
	var wait time.Duration
	var idOnly, anyway bool
	cmd := &cobra.Command{
		Use:   "call TYPE/ID METHOD [JSON|@file|-]",
		Short: "Call a method and print its result",
		Example: `  pawl call Account/alice Deposit '{"amount": 5}'
  pawl call Account/alice Deposit @deposit.json --key order-17
  pawl call Report/2026 Build --wait 10s || pawl invocations wait ID`,
		Args:              args(2, 3),
		ValidArgsFunction: c.completeTarget,
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: sent again with the same key it happens once")
	waitFlag(cmd, &wait, "how long to wait for the result")
	cmd.Flags().BoolVar(&idOnly, "id-only", false, "do not wait: print the id of the invocation")
	anywayFlag(cmd, &anyway)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, input, err := c.targetArgs(args)
		if err != nil {
			return err
		}
		if idOnly {
			wait = 0
		}
		cl, err := c.connect(cmd.Context())
		if err != nil {
			return err
		}
		defer cl.Close()
		if err := c.sendable(cmd.Context(), cl, t.Type, anyway); err != nil {
			return err
		}
		r, err := cl.Call(cmd.Context(), t, input, key, wait)
		if err != nil {
			return interrupted(r.ID, err)
		}
		if idOnly {
			if r.ID == "" {
				return usagef("%s is a read-only method: it leaves no invocation and has no id", t.Method)
			}
			fmt.Fprintln(c.out, r.ID)
			return nil
		}
		return c.result(r)
	}
	return cmd
}

// waitFlag adds --wait, which without a value given waits until it is there.
func waitFlag(cmd *cobra.Command, wait *time.Duration, text string) {
	cmd.Flags().DurationVar(wait, "wait", -1, text+" (default: until it is there)")
	cmd.Flags().Lookup("wait").DefValue = "0s" // which help leaves out: the text says it
}

func (c *cli) tellCommand() *cobra.Command {
	var key string
	var delay, wait time.Duration
	var idOnly, anyway bool
	cmd := &cobra.Command{
		Use:   "tell TYPE/ID METHOD [JSON|@file|-]",
		Short: "Send a message that cannot be lost, and do not wait for its method",
		Example: `  pawl tell Account/alice Close --delay 24h
  pawl tell Mailer/eu Send @mail.json --key mail-99 --id-only`,
		Args:              args(2, 3),
		ValidArgsFunction: c.completeTarget,
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: sent again with the same key it happens once")
	cmd.Flags().DurationVar(&delay, "delay", 0, "begin only after this time")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait for its end after all, so long")
	cmd.Flags().BoolVar(&idOnly, "id-only", false, "print the id of the invocation, and nothing else")
	anywayFlag(cmd, &anyway)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, input, err := c.targetArgs(args)
		if err != nil {
			return err
		}
		if delay < 0 {
			return usagef("--delay %s is negative", delay)
		}
		cl, err := c.connect(cmd.Context())
		if err != nil {
			return err
		}
		defer cl.Close()
		if err := c.sendable(cmd.Context(), cl, t.Type, anyway); err != nil {
			return err
		}
		var at time.Time
		if delay > 0 {
			at = time.Now().Add(delay)
		}
		r, err := cl.Tell(cmd.Context(), t, input, key, at)
		if err != nil {
			return interrupted(r.ID, err)
		}
		if wait > 0 {
			if r, err = cl.Wait(cmd.Context(), r.ID, wait); err != nil {
				return interrupted(r.ID, err)
			}
			return c.result(r)
		}
		if idOnly || c.format == "id" {
			fmt.Fprintln(c.out, r.ID)
			return nil
		}
		if c.format != "" {
			return c.json(map[string]string{"id": r.ID, "status": string(r.Status)}, "")
		}
		fmt.Fprintf(c.out, "told %s/%s %s as %s\n", t.Type, t.ID, t.Method, r.ID)
		return nil
	}
	return cmd
}

// result prints the outcome of a call, or says that it goes on.
func (c *cli) result(r client.Result) error {
	if !r.Ended {
		status := ""
		if r.Status != "" {
			status = ": it is " + string(r.Status)
		}
		return &unknown{r.ID, errors.New("the wait has ended, not the invocation" + status)}
	}
	switch c.format {
	case "":
		if r.Value != nil {
			fmt.Fprintln(c.out, strings.TrimRight(string(r.Value), "\n"))
		}
		return nil
	case "id":
		fmt.Fprintln(c.out, r.ID)
		return nil
	case "json", "jsonl":
		out := struct {
			ID    string          `json:"id,omitempty"`
			Value json.RawMessage `json:"value"`
		}{r.ID, json.RawMessage("null")}
		if json.Valid(r.Value) {
			out.Value = r.Value
		}
		return c.json(out, "")
	}
	return badFormat(c.format)
}

// targetArgs reads TYPE/ID METHOD [INPUT].
func (c *cli) targetArgs(args []string) (client.Target, []byte, error) {
	a, err := actorArg(args[0])
	if err != nil {
		return client.Target{}, nil, err
	}
	t := client.Target{Type: a.Type, ID: a.ID, Method: args[1]}
	if len(args) < 3 {
		return t, nil, nil
	}
	input, err := c.inputArg(args[2])
	return t, input, err
}

// inputArg reads JSON from an argument, a file or the standard input.
func (c *cli) inputArg(text string) ([]byte, error) {
	b := []byte(text)
	var err error
	switch name, isFile := strings.CutPrefix(text, "@"); {
	case text == "-":
		if b, err = io.ReadAll(c.in); err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
	case isFile:
		if b, err = os.ReadFile(name); err != nil {
			return nil, usagef("%s", err)
		}
	}
	if json.Valid(b) {
		return b, nil
	}
	var v any
	f := &failure{exit: 2, text: "the input is not JSON: " + json.Unmarshal(b, &v).Error()}
	if text != "" && text != "-" && text[0] != '@' && !strings.ContainsAny(text, `{}[]"`) {
		q, _ := json.Marshal(text)
		f.text += fmt.Sprintf(". Did you mean '%s'?", q)
	}
	return nil, f
}
