package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

const (
	standardData = "./data"
	standardPort = "127.0.0.1:7070"

	// engineForms is how an application is named.
	engineForms = "--engine DIR, unix:PATH, http(s)://HOST:PORT or pawl://HOST:PORT"
)

// connect finds the application.
func (c *cli) connect(ctx context.Context) (*client.Client, error) {
	switch named, env := c.engine, c.getenv("PAWL_ENGINE"); {
	case named != "":
		return c.open(named)
	case env != "":
		return c.open(env)
	}
	if _, err := os.Stat(filepath.Join(standardData, v1.SocketName)); err == nil {
		return c.open(standardData)
	}
	d := net.Dialer{Timeout: time.Second}
	if conn, err := d.DialContext(ctx, "tcp", standardPort); err == nil {
		_ = conn.Close()
		return c.open("http://" + standardPort)
	}
	return nil, &failure{
		exit: v1.ExitNobody,
		text: "nobody reachable: no --engine, no PAWL_ENGINE, no " + standardData + "/" + v1.SocketName +
			", and nothing listens on " + standardPort,
		next: "start the application here, or say where it is: " + engineForms,
	}
}

func (c *cli) open(name string) (*client.Client, error) {
	cl, err := client.Open(name)
	if err != nil {
		return nil, &failure{exit: v1.ExitUsage, text: err.Error()}
	}
	if cl.Token == "" {
		cl.Token = c.getenv("PAWL_TOKEN")
	}
	if c.tokenFile != "" {
		b, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, &failure{exit: v1.ExitUsage, text: err.Error()}
		}
		cl.Token = strings.TrimSpace(string(b))
	}
	return cl, nil
}

// actorArg reads TYPE/ID: the first slash divides, so an id may have others.
// In the type %2F stands for a slash.
func actorArg(text string) (engine.Actor, error) {
	kind, id, ok := strings.Cut(text, "/")
	if !ok || kind == "" {
		return engine.Actor{}, usagef("%q names no actor: write TYPE/ID, such as Account/alice", text)
	}
	kind = strings.NewReplacer("%2F", "/", "%2f", "/", "%25", "%").Replace(kind)
	return engine.Actor{Type: kind, ID: id}, nil
}

// knownType refuses to look for what is of a type that nobody has heard of.
func knownType(ctx context.Context, cl *client.Client, kind string) error {
	types, err := cl.Types(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(types, func(t v1.Type) bool { return t.Name == kind }) {
		return nil
	}
	return noType(kind, types)
}

func noType(kind string, types []v1.Type) *failure {
	f := &failure{exit: v1.ExitNotFound, text: "there is no type " + kind, next: "pawl types lists them with their methods"}
	if near := nearestType(kind, types); near != "" {
		f.text += ". Did you mean " + near + "?"
	} else if len(types) > 0 {
		f.text += "; there is " + strings.Join(namesOf(types), ", ")
	}
	return f
}

func namesOf(types []v1.Type) (names []string) {
	for _, t := range types {
		names = append(names, t.Name)
	}
	return names
}

func nearestType(kind string, types []v1.Type) string { return v1.Nearest(kind, namesOf(types)) }

// sendable says on the standard error that nobody hosts the type to which something is
// about to be sent: it waits there for who does, as it would over Go or HTTP. A name that
// nobody has heard of and that looks misspelt is refused, unless anyway is set.
func (c *cli) sendable(ctx context.Context, cl *client.Client, kind string, anyway bool) error {
	types, err := cl.Types(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(types, func(t v1.Type) bool { return t.Name == kind })
	if i >= 0 && len(types[i].Hosts) > 0 {
		return nil
	}
	if i < 0 && !anyway && nearestType(kind, types) != "" {
		f := noType(kind, types)
		f.next = "pawl types lists them with their methods; --anyway sends it, to wait for a component that hosts " + kind
		return f
	}
	fmt.Fprintf(c.errs, "nobody hosts %s now: it waits for a component that does\n", kind)
	return nil
}

// anywayFlag adds the flag that lets what is misspelt go.
func anywayFlag(cmd *cobra.Command, anyway *bool) {
	cmd.Flags().BoolVar(anyway, "anyway", false, "send it also if nobody has heard of the type, and its name looks misspelt")
}

// completeTarget completes TYPE/ and METHOD from the running application.
func (c *cli) completeTarget(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range c.typesNow(cmd.Context()) {
		if len(args) == 0 {
			words = append(words, t.Name+"/")
			continue
		}
		if a, err := actorArg(args[0]); len(args) == 1 && err == nil && a.Type == t.Name {
			for _, m := range t.Methods {
				words = append(words, m.Name)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFlagActor completes the TYPE/ of a flag.
func (c *cli) completeFlagActor(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return c.completeTarget(cmd, nil, word)
}

// completeType completes the name of a type.
func (c *cli) completeType(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range c.typesNow(cmd.Context()) {
		words = append(words, t.Name)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// typesNow are the types of the running application; none if it cannot be asked.
func (c *cli) typesNow(ctx context.Context) []v1.Type {
	cl, err := c.connect(ctx)
	if err != nil {
		return nil
	}
	defer cl.Close()
	types, err := cl.Types(ctx)
	if err != nil {
		return nil
	}
	return types
}
