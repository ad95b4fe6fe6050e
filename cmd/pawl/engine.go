package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
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

// knownType refuses a type that nobody has heard of: a call to it would wait
// for a component that hosts it.
func knownType(ctx context.Context, cl *client.Client, kind string) error {
	types, err := cl.Types(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range types {
		if t.Name == kind {
			return nil
		}
		names = append(names, t.Name)
	}
	f := &failure{exit: v1.ExitNotFound, text: "there is no type " + kind, next: "pawl types lists them with their methods"}
	if near := v1.Nearest(kind, names); near != "" {
		f.text += ". Did you mean " + near + "?"
	} else if len(names) > 0 {
		f.text += "; there is " + strings.Join(names, ", ")
	}
	return f
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
