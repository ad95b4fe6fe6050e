package soak

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// variable holds the orders of a child, as JSON.
const variable = "PAWL_QUEUE_SOAK"

const queueName = "soak"

// orders is what a child is told when it is started.
type orders struct {
	Self    replica.HostID
	Life    int
	Dir     string
	Listen  string // empty: any port of the loopback
	Peers   []replica.Peer
	Writers int
}

// IsChild says whether this process is to be a host: call Child.
func IsChild() bool { return os.Getenv(variable) != "" }

// Child runs a host until standard input ends, or says stop. It returns the exit
// status.
func Child() int {
	var o orders
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &o); err != nil {
		fmt.Fprintln(os.Stderr, "read orders:", err)
		return 2
	}
	c := &child{orders: o}
	if err := c.run(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "host %d: %v\n", o.Self, err)
		return 1
	}
	return 0
}

// child is a host with appenders.
type child struct {
	orders
	host    *replica.Host
	out     sync.Mutex // of standard output
	rest    context.CancelFunc
	writers sync.WaitGroup
}

func (c *child) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (c *child) config() replica.Config {
	qc := replica.QueueConfig{
		Name: queueName, Dir: c.Dir,
		Queue:   queue.Config{CycleBytes: 256 << 10},
		Replica: core.Config{Master: 1, Acknowledge: true, Strategy: core.Majority()},
	}
	for _, p := range c.Peers {
		qc.Replica.Hosts = append(qc.Replica.Hosts, p.ID)
	}
	return replica.Config{
		Self: c.Self, Peers: c.Peers, Listen: cmp.Or(c.Listen, "127.0.0.1:0"), Secret: []byte("soak"), Cluster: "soak",
		HeartbeatInterval: 50 * time.Millisecond, HeartbeatTimeout: 500 * time.Millisecond,
		Queues: []replica.QueueConfig{qc},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

func (c *child) run(in io.Reader) error {
	host, err := replica.Open(c.config())
	if err != nil {
		return err
	}
	c.host = host
	c.say("up %s", host.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	writing, rest := context.WithCancel(ctx)
	c.rest = rest
	for w := range c.Writers {
		c.writers.Go(func() { c.write(writing, w) })
	}
	var commands sync.WaitGroup
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "stop" {
		line := lines.Text()
		commands.Go(func() { c.obey(ctx, line) })
	}
	cancel()
	err = host.Close()
	c.writers.Wait()
	commands.Wait()
	return err
}

// write appends whenever this host is the source.
func (c *child) write(ctx context.Context, w int) {
	q := c.host.Queue(queueName)
	for k := 0; ctx.Err() == nil; k++ {
		err := q.WaitStats(ctx, func(s replica.Stats) bool { return s.Role == core.Source.String() && s.Locked == "" })
		if err != nil {
			return
		}
		text := fmt.Sprintf("%d.%d.%d.%d %s", c.Self, c.Life, w, k, strings.Repeat("x", k%100))
		if i, err := q.Append(ctx, []byte(text)); err == nil {
			c.say("ack %d %s", uint64(i), text)
		}
	}
}

// obey carries out a command of the parent.
func (c *child) obey(ctx context.Context, line string) {
	q := c.host.Queue(queueName)
	verb, arg, _ := strings.Cut(line, " ")
	n, _ := strconv.ParseUint(arg, 10, 64)
	var err error
	switch verb {
	case "takeover":
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		_, err = q.TakeOver(ctx, false)
	case "rest":
		c.rest()
		c.writers.Wait()
		c.say("resting")
	case "switch":
		err = q.Switch(ctx, replica.HostID(n))
	case "await":
		err = q.WaitStats(ctx, func(s replica.Stats) bool { return s.Counted >= queue.Index(n) })
		if err == nil {
			c.say("have %d", n)
		}
	case "stats":
		var b []byte
		if b, err = json.Marshal(q.Stats()); err == nil {
			c.say("stats %s", b)
		}
	}
	if err != nil {
		c.say("error %s: %s", line, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}
