package queuecmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/control"
)

// status shows how replica sets stand.
type status struct {
	*flags
	where
	watch bool
	limit time.Duration
	every time.Duration // between two looks of watch
}

func (f *flags) replicationStatus() *cobra.Command {
	s := status{flags: f, every: time.Second}
	c := &cobra.Command{
		Use:   "status",
		Short: "How all hosts of the replica sets stand, as a running one finds out",
		Long: "Ask a running host how its queues stand. It asks the other hosts of their replica sets, and tells\n" +
			"of those that do not answer why, and what the source knows of them.",
		Example: "  pawl queue replication status -c file.yaml --host one -w",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.run(c) },
	}
	s.add(c)
	fl := c.Flags()
	fl.BoolVarP(&s.watch, "watch", "w", false, "show it again each second, until interrupted; -o jsonl: an object a line")
	fl.DurationVar(&s.limit, "timeout", control.DefaultPatience, "how long the other hosts have to answer")
	return c
}

func (s *status) run(c *cobra.Command) error {
	asJSON, err := s.json()
	if err != nil {
		return err
	}
	if s.watch && asJSON && s.format != "jsonl" {
		return usagef("--watch goes with the table, and with -o jsonl")
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if !s.watch {
		return s.show(c.Context(), client, out, asJSON)
	}
	t := time.NewTicker(s.every)
	defer t.Stop()
	for {
		var screen bytes.Buffer
		err := s.show(c.Context(), client, &screen, asJSON)
		switch {
		case c.Context().Err() != nil: // the way to end it
			return nil
		case err != nil:
			return err
		}
		if isTerminal(out) && !asJSON {
			_, _ = io.WriteString(out, "\x1b[H\x1b[2J") // the next write tells what is wrong
		}
		if _, err := screen.WriteTo(out); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-c.Context().Done():
			return nil
		}
	}
}

func (s *status) show(ctx context.Context, client *control.Client, out io.Writer, asJSON bool) error {
	o, err := client.Overview(ctx, s.limit)
	if err != nil {
		return err
	}
	if asJSON {
		return s.printJSON(out, o)
	}
	for k := range o.Queues {
		if k > 0 {
			_, _ = fmt.Fprintln(out) // the next write tells what is wrong
		}
		if err := printOverview(out, &o.Queues[k]); err != nil {
			return err
		}
	}
	return nil
}

func printOverview(w io.Writer, o *replica.Overview) error {
	p := &printer{w: w}
	source := "no source"
	if o.Source != 0 {
		source = fmt.Sprintf("source host %d, epoch %s", o.Source, o.Epoch)
	}
	p.printf("%s: %s; an entry counts once %d of %d hosts hold it; a take-over needs the promises of %d\n",
		o.Queue, source, o.Need, len(o.Hosts), o.Promises)
	if p.err != nil {
		return p.err
	}
	head := "HOST\tROLE\tEPOCH\tFOLLOWS\tSTATE\tSENT\tRECEIVED\tAPPENDED\tFLUSHED\tAPPLIED\tGAP\tTRUST\tHEARD"
	err := table(w, head, func(row func(string, ...any)) {
		for _, h := range o.Hosts {
			row("%d %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", h.Host, h.Name, role(&h), orDash(h.Epoch), follows(&h), orDash(h.State),
				known(h.Sent), known(h.Received), known(h.Appended), known(h.Flushed), known(h.Applied), known(h.Gap), orDash(h.Trust), heard(o, &h))
		}
	})
	if err != nil {
		return err
	}
	for _, h := range o.Hosts {
		if !h.Reached {
			p.printf("host %d cannot be reached from host %d: %s%s\n", h.Host, o.Asked, h.Why, heardBy(&h))
		}
		if h.Locked != "" && h.Failed == "" {
			p.printf("host %d waits: %s%s\n", h.Host, h.Locked, waitsFor(&h))
		}
	}
	for _, text := range o.Warnings {
		p.printf("%s\n", text)
	}
	return p.err
}

func role(h *replica.HostOverview) string {
	switch {
	case !h.Reached:
		return "?"
	case h.Failed != "":
		return "ended"
	}
	return h.Role
}

func orDash(s string) string { return cmp.Or(s, "-") }

func follows(h *replica.HostOverview) string {
	if h.Follows == 0 {
		return "-"
	}
	return fmt.Sprint(h.Follows)
}

// known prints what is known of a host.
func known[T queue.Index | uint64](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// heard says how long ago the host that asks has heard of another one.
func heard(o *replica.Overview, h *replica.HostOverview) string {
	switch {
	case h.Host == o.Asked:
		return "-"
	case h.HeardMS < 0:
		return "never"
	}
	d := time.Duration(h.HeardMS) * time.Millisecond
	if d >= 10*time.Second {
		d = d.Round(time.Second)
	}
	return d.String() + " ago"
}

func heardBy(h *replica.HostOverview) string {
	if len(h.HeardBy) == 0 {
		return ""
	}
	return fmt.Sprintf("; it is connected with %s", hostList(h.HeardBy))
}

func waitsFor(h *replica.HostOverview) string {
	if len(h.WaitsFor) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", hostList(h.WaitsFor))
}

func hostList[T replica.HostID | int](ids []T) string {
	texts := make([]string, len(ids))
	for k, id := range ids {
		texts[k] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "host " + texts[0]
	}
	return "hosts " + strings.Join(texts, ", ")
}
