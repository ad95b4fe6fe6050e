package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
	"github.com/pawl-go/pawl/queue"
)

// failure is an error of the command line itself, with its exit code and what
// to do next.
type failure struct {
	exit v1.Exit
	text string
	next string
}

func (f *failure) Error() string { return f.text }

func usagef(format string, args ...any) error {
	return &failure{exit: v1.ExitUsage, text: fmt.Sprintf(format, args...)}
}

// badFlag guesses at mistyped flags.
func badFlag(cmd *cobra.Command, err error) error {
	f := &failure{exit: v1.ExitUsage, text: cmd.CommandPath() + ": " + err.Error(), next: cmd.CommandPath() + " --help"}
	if word, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(fl *pflag.Flag) { names = append(names, fl.Name) })
		if near := v1.Nearest(word, names); near != "" {
			f.text += ". Did you mean --" + near + "?"
		}
	}
	return f
}

// unknown is the outcome of something that goes on without us.
type unknown struct {
	id    string
	cause error
}

func (u *unknown) Error() string { return u.cause.Error() }
func (u *unknown) Unwrap() error { return u.cause }

// explain prints an error, what to do next, and gives its exit code.
func (c *cli) explain(err error) v1.Exit {
	exit, next := c.meaning(err)
	fmt.Fprintln(c.errs, c.paint(red, "pawl: ")+strings.TrimPrefix(err.Error(), "pawl: "))
	if p, ok := errors.AsType[*v1.Problem](err); ok && p.Stack != "" {
		fmt.Fprintln(c.errs, strings.TrimRight(p.Stack, "\n"))
	}
	if next != "" {
		fmt.Fprintln(c.errs, "next: "+next)
	}
	if u, ok := errors.AsType[*unknown](err); ok && u.id != "" {
		fmt.Fprintln(c.out, u.id)
	}
	return exit
}

func (c *cli) meaning(err error) (exit v1.Exit, next string) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.exit, f.next
	}
	if u, ok := errors.AsType[*unknown](err); ok {
		if u.id == "" {
			return v1.ExitOutcomeUnknown, "it may or may not happen: look with pawl invocations ls; with --key it can be sent again"
		}
		return v1.ExitOutcomeUnknown, "it goes on: pawl invocations wait " + u.id
	}
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		return v1.ExitNobody, "start the application, or say where it is: " + engineForms
	}
	if p, ok := errors.AsType[*v1.Problem](err); ok {
		return p.Exit(), nextOf(p)
	}
	if _, ok := errors.AsType[*queue.LockedError](err); ok {
		return v1.ExitFailed, "if that is pawl serve, take part in it by --engine pawl:DIR"
	}
	if code := engine.CodeOf(err); code != "" {
		return v1.Lookup(code).Exit, ""
	}
	return v1.ExitFailed, ""
}

// nextOf says what to do about a problem.
func nextOf(p *v1.Problem) string {
	if p.Kind != v1.KindPawl {
		if p.Invocation == "" {
			return ""
		}
		return "pawl invocations show " + p.Invocation
	}
	switch p.Code {
	case engine.ErrNotFound:
		if p.Status == http.StatusGone && p.Invocation == "" { // events
			return "pawl events --after 0 begins with the oldest kept, without --after with what comes next"
		}
	case engine.ErrParked:
		return fmt.Sprintf("pawl invocations show %[1]s; then resume, answer, skip or cancel %[1]s", p.Invocation)
	case engine.ErrOutcomeUnknown:
		return "pawl invocations wait " + p.Invocation
	case engine.ErrNoHost:
		return "start a process that hosts the type; pawl ps shows who does"
	case engine.ErrOverloaded:
		return "try again later; pawl invocations ls shows what waits"
	case engine.ErrDeadlock:
		return "pawl invocations ls --status running shows who waits"
	case engine.ErrNoMethod:
		return "pawl types lists the methods of types in Go; those of other languages are in their source"
	case engine.ErrUnavailable:
		return "look into the log of the application"
	}
	return ""
}

// interrupted makes an unknown outcome of a wait that the user broke off, or
// whose connection was lost.
func interrupted(id string, err error) error {
	if errors.Is(err, context.Canceled) {
		return &unknown{id, errors.New("interrupted")}
	}
	if errors.Is(err, engine.ErrOutcomeUnknown) {
		return &unknown{id, err}
	}
	return err
}
