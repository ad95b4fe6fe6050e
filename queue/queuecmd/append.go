package queuecmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-go/pawl/queue"
	"github.com/spf13/cobra"
)

type appendFlags struct {
	*flags
	whole, zero, objects bool
	durability           string
	cycleBytes           int64
}

func (f *flags) append() *cobra.Command {
	a := appendFlags{flags: f}
	c := &cobra.Command{
		Use:   "append DIR",
		Short: "Append what stands on standard input, an entry a line",
		Long: "Append what stands on standard input, an entry a line, to a queue that nobody has open for\n" +
			"appending; it is made if it is missing. When the command has ended all of it is flushed.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c, args[0]) },
	}
	fl := c.Flags()
	fl.BoolVar(&a.whole, "whole", false, "all of it is one entry")
	fl.BoolVarP(&a.zero, "null", "0", false, "entries end with a zero byte instead of a newline")
	fl.BoolVar(&a.objects, "objects", false, "each line is an object as dump -o json prints it; its payload is the entry")
	fl.StringVar(&a.durability, "durability", queue.Process.String(), "process, or every-append: flushed before the next one is read")
	fl.Int64Var(&a.cycleBytes, "cycle-bytes", 0, "size of the files that are made (0: 64 MiB)")
	c.MarkFlagsMutuallyExclusive("whole", "null", "objects")
	return c
}

type appended struct {
	Entries int64       `json:"entries"`
	Bytes   int64       `json:"bytes"`
	First   queue.Index `json:"first"`
	Last    queue.Index `json:"last"`
}

func (a *appendFlags) run(c *cobra.Command, dir string) (err error) {
	asJSON, err := a.json()
	if err != nil {
		return err
	}
	cfg := a.config()
	cfg.CycleBytes = a.cycleBytes
	switch a.durability {
	case queue.Process.String():
	case queue.EveryAppend.String():
		cfg.Durability = queue.EveryAppend
	default:
		return usagef("--durability %s: it is %s or %s", a.durability, queue.Process, queue.EveryAppend)
	}
	q, err := queue.Open(dir, cfg)
	if err != nil {
		return err
	}
	var sum appended
	b := newBar(c)
	err = a.each(bufio.NewReader(c.InOrStdin()), func(p []byte) error {
		i, err := q.Append(p)
		if err != nil {
			return err
		}
		if sum.Entries == 0 {
			sum.First = i
		}
		sum.Entries, sum.Bytes, sum.Last = sum.Entries+1, sum.Bytes+int64(len(p)), i
		b.count("appended", sum.Entries)
		return nil
	})
	b.end()
	if err = errors.Join(err, q.Close()); err != nil {
		if sum.Entries > 0 {
			err = fmt.Errorf("%w (behind %d entries, the last one %s)", err, sum.Entries, sum.Last)
		}
		return err
	}
	if asJSON {
		return a.printJSON(c.OutOrStdout(), sum)
	}
	p := &printer{w: c.OutOrStdout()}
	if sum.Entries == 0 {
		p.printf("nothing to append\n")
	} else {
		p.printf("appended %d entries of %d bytes, %s to %s\n", sum.Entries, sum.Bytes, sum.First, sum.Last)
	}
	return p.err
}

// each calls add with every entry of the input.
func (a *appendFlags) each(in *bufio.Reader, add func([]byte) error) error {
	if a.whole {
		p, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		return add(p)
	}
	end := byte('\n')
	if a.zero {
		end = 0
	}
	for n := 1; ; n++ {
		p, err := in.ReadBytes(end)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("read standard input: %w", err)
		}
		if !last {
			p = p[:len(p)-1]
		}
		if len(p) > 0 || !last {
			if err := a.one(p, add); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if last {
			return nil
		}
	}
}

// one adds an entry.
func (a *appendFlags) one(p []byte, add func([]byte) error) error {
	if a.objects {
		var err error
		if p, err = payload(p); err != nil {
			return err
		}
	}
	return add(p)
}

func payload(line []byte) ([]byte, error) {
	var o struct {
		Payload *[]byte `json:"payload"`
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, fmt.Errorf("parse object: %w", err)
	}
	if o.Payload == nil {
		return nil, errors.New("parse object: it has no payload")
	}
	return *o.Payload, nil
}
