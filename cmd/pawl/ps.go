package main

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/internal/v1/client"
)

func (c *cli) psCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ps", Short: "List the components, what they host, and the counts of the engine", Args: args(0, 0),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, func(cl *client.Client) error {
			return c.watched(cmd.Context(), func() (*list, error) {
				comps, err := cl.Components(cmd.Context())
				if err != nil {
					return nil, err
				}
				l := &list{head: []string{"COMPONENT", "SESSION", "UP", "LIVE", "TYPES"}, all: comps, empty: "no component has joined"}
				for _, m := range comps.Items {
					l.add(m, m.Name, "", m.Name, strconv.FormatUint(m.Session, 10), ago(m.Joined), strconv.Itoa(m.Live),
						strings.Join(m.Types, ", "))
				}
				e := comps.Engine
				l.note = fmt.Sprintf("%d pending, %d scheduled, %d parked, %d failed, %d reminders, %d paused; journal %s, durability %s",
					e.Pending, e.Scheduled, e.Parked, e.Failed, e.Reminders, e.Paused, bytesText(e.JournalBytes), e.Durability)
				return l, nil
			})
		})
	}
	return c.watchable(cmd)
}

func (c *cli) typesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "types", Short: "List the actor types and their methods", Args: args(0, 0)}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, func(cl *client.Client) error {
			return c.watched(cmd.Context(), func() (*list, error) {
				types, err := cl.Types(cmd.Context())
				if err != nil {
					return nil, err
				}
				l := &list{head: []string{"TYPE", "METHODS", "HOSTED BY"}, empty: "there are no types"}
				for _, t := range types {
					var methods []string
					for _, m := range t.Methods {
						if m.ReadOnly {
							m.Name += " (read-only)"
						}
						methods = append(methods, m.Name)
					}
					hosts := strings.Join(t.Hosts, ", ")
					if hosts == "" {
						hosts = "nobody"
					}
					l.add(t, t.Name, "", t.Name, strings.Join(methods, ", "), hosts)
				}
				return l, nil
			})
		})
	}
	return c.watchable(cmd)
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			switch c.format {
			case "json", "jsonl":
				return c.json(map[string]string{"version": version()}, "")
			}
			fmt.Fprintln(c.out, version())
			return nil
		},
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "pawl (unknown build)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return "pawl " + v + " " + info.GoVersion
}

// with runs do with the application found.
func (c *cli) with(cmd *cobra.Command, do func(*client.Client) error) error {
	cl, err := c.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer cl.Close()
	return do(cl)
}
