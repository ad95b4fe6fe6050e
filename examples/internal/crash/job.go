package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// jobVariable is the environment variable by which a child knows its job.
const jobVariable = "PAWL_CRASH_JOB"

// Job is what one life of a child is told.
type Job struct {
	App        string // which of the program's applications
	Dir        string // its data
	Durability string // "process", "disk" or "replicated"
	Tuning     string // more parameters for the engine, as in "checkpoint=1MiB"; may be empty
	Trace      string // the file into which its engine records all that happens; "": off
	From       int    // units below have been answered
	Standby    bool   // From comes later, by Life.Begin
	Units      int    // how many there are
	Rate       int    // units submitted in a second; 0: as fast as Window allows
	Window     int    // units in flight at most; 0: 64
	Variant    string // the application's own choice
	StopAt     string // a point at which the child stops and waits to be killed
}

// Engine is the URL of the job's engine.
func (j Job) Engine() string {
	engine := "local:" + j.Dir + "?durability=" + j.Durability
	if j.Tuning != "" {
		engine += "&" + j.Tuning
	}
	if j.Trace != "" {
		engine += "&trace=" + url.QueryEscape(j.Trace)
	}
	return engine
}

// App is an application that can be run as a child: it opens its data, submits
// what the job says (see [Job.Dispatch]), and returns when all is answered.
type App func(ctx context.Context, job Job, report *Reporter) error

// Main runs the child, and exits, if this process was started as one. A program
// calls it first of all, with its applications by name; a test in TestMain.
func Main(apps map[string]App) {
	text, ok := os.LookupEnv(jobVariable)
	if !ok {
		return
	}
	if err := runChild(apps, text); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChild(apps map[string]App, text string) error {
	var job Job
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	app := apps[job.App]
	if app == nil {
		return fmt.Errorf("read job: no application %q in this program", job.App)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := &Reporter{w: os.Stdout, from: make(chan int, 1)}
	go report.obey(os.Stdin)
	if err := app(ctx, job, report); err != nil {
		return err
	}
	report.End()
	return nil
}

// obey takes what the parent says, and ends this process when the parent's end of
// standard input is closed: by the parent's death at the latest. Nobody waits for
// it: it lasts as long as the process.
func (r *Reporter) obey(stdin io.Reader) {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		text, begin := strings.CutPrefix(lines.Text(), "from ")
		if unit, err := strconv.Atoi(text); begin && err == nil {
			r.from <- unit
		}
	}
	os.Exit(3)
}
