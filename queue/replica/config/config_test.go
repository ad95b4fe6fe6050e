package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// TestFiles runs the scenario files; -rewrite writes down what comes out.
func TestFiles(t *testing.T) {
	for _, file := range []string{"right", "mistakes"} {
		datadriven.RunTest(t, filepath.Join("testdata", file), func(t *testing.T, d *datadriven.TestData) string {
			text := d.Input
			switch d.Cmd {
			case "parse":
			case "load":
				var name string
				d.ScanArgs(t, "file", &name)
				b, err := os.ReadFile(filepath.Join("testdata", name))
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			default:
				d.Fatalf(t, "no command %q", d.Cmd)
			}
			f, err := Parse("test.yaml", []byte(text))
			if err != nil {
				return err.Error()
			}
			return describe(f)
		})
	}
}

func describe(f *File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "heartbeats %v %v secret %q\n", f.Context.HeartbeatInterval, f.Context.HeartbeatTimeout, f.Context.SecretFile)
	for _, h := range f.Hosts {
		fmt.Fprintf(&b, "host %d %s %s:", h.ID, h.Name, h.Address)
		for _, q := range f.QueuesOf(h.ID) {
			fmt.Fprintf(&b, " %s", f.Dir(q, h.ID))
		}
		b.WriteString("\n")
	}
	for _, q := range f.Queues {
		fmt.Fprintf(&b, "queue %s source %d hosts %v", q.Name, q.SourceID, q.Hosts)
		if len(q.Hosts) > 0 {
			c := f.Replica(q, q.Hosts[0])
			fmt.Fprintf(&b, " master %d acknowledge %v allowLoss %v flushed %v strategy %+v", c.Master, c.Acknowledge, c.AllowLoss, c.FlushToCount, c.Strategy)
		}
		if q.Retain != (queue.Retention{}) || q.HoldForSinks {
			fmt.Fprintf(&b, " retain %+v hold %v", q.Retain, q.HoldForSinks)
		}
		b.WriteString("\n")
	}
	for _, s := range f.Services {
		fmt.Fprintf(&b, "service %s line %d\n", s.Name, s.Line)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	f, err := Load(filepath.Join("testdata", "reference-services.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := f.Host("2"); !ok || h.Name != "hostB" {
		t.Errorf("host 2 is %+v", h)
	}
	if h, ok := f.Host("hostC"); !ok || h.ID != 3 {
		t.Errorf("hostC is %+v", h)
	}
	if _, ok := f.Host("4"); ok {
		t.Error("there is a host 4")
	}
	q, ok := f.Queue("queue-2")
	if !ok || !slices.Equal(q.Hosts, []core.HostID{1, 2}) {
		t.Errorf("queue-2 is %+v", q)
	}
	if _, ok := f.Queue("queue-5"); ok {
		t.Error("there is a queue-5")
	}
	if _, err := Load(filepath.Join("testdata", "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error of a missing file: %v", err)
	}
	var mistakes *MistakesError
	if _, err := Parse("x", []byte("a")); !errors.As(err, &mistakes) || len(mistakes.Mistakes) != 1 {
		t.Errorf("error of a bad file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"reference-queues.yaml", "reference-services.yaml", "mistakes"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("fuzz", []byte(text))
		if err != nil {
			return
		}
		for _, q := range file.Queues {
			for _, h := range q.Hosts {
				if err := file.Replica(q, h).Check(); err != nil {
					t.Errorf("queue %s at host %d: %v", q.Name, h, err)
				}
			}
		}
	})
}
