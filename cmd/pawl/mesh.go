package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/mesh"
)

// meshCommand looks into the nodes of a mesh (package mesh). It needs no engine:
// it joins as an observer, and asks over the control stream.
func (c *cli) meshCommand() *cobra.Command {
	m := &meshCLI{cli: c}
	cmd := noun("mesh", "Look into the nodes of a mesh, and end actors",
		m.lsCommand(), m.statusCommand(), m.pingCommand(), m.shutdownCommand(), m.topCommand())
	cmd.Long = `Look into the nodes of a mesh, and end actors.

--node says which node to ask first; the others are found through it. Its secret
comes from --secret-file or PAWL_MESH_SECRET, or there is TLS: a certificate of
one's own, signed as those of the nodes are.`
	cmd.Example = `  pawl mesh ls --node ann=127.0.0.1:7400
  pawl mesh status bob --node ann=127.0.0.1:7400
  pawl mesh ping ear@bob
  pawl mesh top --count 10 -o jsonl`
	f := cmd.PersistentFlags()
	f.StringVar(&m.node, "node", "", "the node to ask first, NAME=HOST:PORT; default $PAWL_MESH")
	f.StringVar(&m.secretFile, "secret-file", "", "a file with the secret of the mesh; default $PAWL_MESH_SECRET")
	f.StringVar(&m.cert, "tls-cert", "", "with TLS: the file of this observer's certificate")
	f.StringVar(&m.key, "tls-key", "", "with TLS: the file of its key")
	f.StringVar(&m.ca, "tls-ca", "", "with TLS: the file of the certificate that signs the nodes'")
	f.DurationVar(&m.timeout, "timeout", 3*time.Second, "for an answer")
	return cmd
}

func (m *meshCLI) lsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ls [NODE]", Short: "List the members, as a node sees them", Args: args(0, 1)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.with(cmd.Context(), func(n *mesh.Node) error {
			return m.watched(cmd.Context(), func() (*list, error) {
				info, err := m.inspect(cmd.Context(), n, first(args), "")
				if err != nil {
					return nil, err
				}
				return memberList(info), nil
			})
		})
	}
	return m.watchable(cmd)
}

func memberList(info mesh.NodeInfo) *list {
	links := map[string]mesh.LinkInfo{}
	for _, l := range info.Links {
		links[l.Peer] = l
	}
	l := &list{head: []string{"NODE", "ADDRESS", "STATUS", "SENT", "RECEIVED", "LOST", "QUEUED"}}
	for _, member := range info.Members {
		link, linked := links[member.ID]
		status, with := "linked", green
		switch {
		case member.ID == info.ID:
			status, with = string(info.State), ""
		case !member.Reachable:
			status, with = "unreachable", red
		case !linked:
			status, with = "reconnecting", yellow
		}
		cells := []string{member.ID, member.Addr, status, "", "", "", ""}
		if linked {
			cells = append(cells[:3], number(link.Sent), number(link.Received), number(link.Lost), bytesText(int64(link.Queued)))
		}
		l.add(member, member.ID, with, cells...)
	}
	l.note = fmt.Sprintf("%d members, as %s sees them", len(info.Members), info.ID)
	return l
}

func (m *meshCLI) statusCommand() *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use: "status [NODE]", Short: "Show what a node does: its links, its counts, its actors", Args: args(0, 1),
	}
	cmd.Flags().StringVar(&prefix, "actors", "", "only actors whose name begins so")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.with(cmd.Context(), func(n *mesh.Node) error {
			info, err := m.inspect(cmd.Context(), n, first(args), prefix)
			if err != nil {
				return err
			}
			switch m.format {
			case "json":
				return m.json(info, "  ")
			case "jsonl":
				return m.json(info, "")
			case "":
				m.printStatus(info)
				return nil
			}
			return m.show(actorList(info, nil, 0))
		})
	}
	return cmd
}

// printStatus shows a node to people.
func (m *meshCLI) printStatus(info mesh.NodeInfo) {
	k := info.Counters
	fmt.Fprintf(m.out, "%s is %s at %s, incarnation %d\n\n", info.ID, info.State, info.Addr, info.Incarnation)
	for _, l := range []*list{memberList(info), actorList(info, nil, 0)} {
		m.table(l)
		fmt.Fprintln(m.out)
	}
	fmt.Fprintf(m.out, "messages: %d sent, %d handled, %d calls pending\n", k.Sent, k.Handled, k.Pending)
	for _, reasons := range []struct {
		name string
		by   map[mesh.Reason]uint64
	}{{"refused", k.Refused}, {"dropped", k.Dropped}, {"refused elsewhere", k.RefusedElsewhere}} {
		fmt.Fprintf(m.out, "%s: %s\n", reasons.name, counted(reasons.by))
	}
	fmt.Fprintf(m.out, "replies: %d sent, %d received, %d stale, %d undeliverable\n",
		k.RepliesSent, k.RepliesReceived, k.RepliesStale, k.RepliesUndeliverable)
	fmt.Fprintf(m.out, "strangers: %d handshakes refused, %d frames malformed\n", k.HandshakesRefused, k.Malformed)
}

// counted says how many there are of each reason.
func counted(by map[mesh.Reason]uint64) string {
	var parts []string
	for reason, n := range by {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// actorList lists actors; with what they had taken a time before, also how fast
// they are, the busiest first.
func actorList(info mesh.NodeInfo, before map[string]uint64, since time.Duration) *list {
	l := &list{
		head:  []string{"ACTOR", "STATUS", "WAITING", "BYTES", "TAKEN", "RESTARTS", "WATCHERS"},
		empty: "no actor has such a name",
	}
	if before != nil {
		l.head = append(l.head, "PER SECOND")
	}
	for _, a := range info.Actors {
		cells := []string{
			a.Name, string(a.Status), strconv.Itoa(a.Waiting), bytesText(a.Bytes), number(a.Taken),
			strconv.Itoa(a.Restarts), strconv.Itoa(a.Watchers),
		}
		if before != nil {
			cells = append(cells, fmt.Sprintf("%.0f", perSecond(before, a, since)))
		}
		with := green
		if a.Status != mesh.Running {
			with = yellow
		}
		l.add(a, a.Name, with, cells...)
	}
	l.note = fmt.Sprintf("%d actors", info.Matching)
	if info.Matching > len(info.Actors) {
		l.note = fmt.Sprintf("%d of %d actors, the first by name; --actors PREFIX shows others", len(info.Actors), info.Matching)
	}
	return l
}

func perSecond(before map[string]uint64, a mesh.ActorInfo, since time.Duration) float64 {
	had, known := before[a.Name]
	if !known || had > a.Taken || since <= 0 { // it is new, or another by that name
		return 0
	}
	return float64(a.Taken-had) / since.Seconds()
}

func (m *meshCLI) pingCommand() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use: "ping [[ACTOR@]NODE]", Short: "Measure the way to a node and back; an actor named must be there", Args: args(0, 1),
	}
	cmd.Flags().IntVar(&count, "count", 3, "how often")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if count < 1 {
			return usagef("--count is at least 1")
		}
		return m.with(cmd.Context(), func(n *mesh.Node) error {
			to, err := m.find(cmd.Context(), n, first(args))
			if err != nil {
				return err
			}
			l := &list{head: []string{"NODE", "ACTOR", "TOOK"}}
			for range count {
				ctx, cancel := context.WithTimeout(cmd.Context(), m.timeout)
				took, err := n.Ping(ctx, to)
				cancel()
				if err != nil {
					return explainMesh(err)
				}
				l.add(pinged{to.Node, to.Name, took.Microseconds()}, to.Node, "", to.Node, to.Name, took.Round(time.Microsecond).String())
			}
			return m.show(l)
		})
	}
	return cmd
}

type pinged struct {
	Node  string `json:"node"`
	Actor string `json:"actor,omitempty"`
	Took  int64  `json:"took_us"`
}

func (m *meshCLI) shutdownCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "shutdown ACTOR@NODE", Short: "Shut an actor down: it refuses what is new, and handles what waits", Args: args(1, 1),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if name, _, ok := cutAddress(args[0]); !ok || name == "" {
			return usagef("which actor? write ACTOR@NODE, not %s", args[0])
		}
		return m.with(cmd.Context(), func(n *mesh.Node) error {
			to, err := m.find(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := m.confirm(fmt.Sprintf("Shut %s down?", to)); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), m.timeout)
			defer cancel()
			if err := n.ShutdownActor(ctx, to); err != nil {
				return explainMesh(err)
			}
			fmt.Fprintf(m.errs, "%s has been told; pawl mesh status shows when it has ended\n", to)
			return nil
		})
	}
	return cmd
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// cutAddress cuts ACTOR@NODE. The name of an actor may have an @ too.
func cutAddress(s string) (actor, node string, ok bool) {
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}
