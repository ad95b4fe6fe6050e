package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
)

// explained is how many refuted keys are shown; more say no more.
const explained = 3

// tally counts verdicts.
type tally struct {
	linearizable, refuted, unknown int           // keys
	open                           int           // operations
	checking                       time.Duration // time that it took
}

// judge checks a history. What is refuted it explains in files in dir, and the
// error names them; of what is unknown the error says how far the check came.
func judge(ctx context.Context, h *history.History, limit time.Duration, dir string) (tally, error) {
	var t tally
	var bad []string
	for _, v := range history.Check(ctx, h, limit) {
		t.open += v.Open
		t.checking += v.Took
		switch v.Result {
		case history.Linearizable:
			t.linearizable++
		case history.Unknown:
			t.unknown++
			bad = append(bad, fmt.Sprintf("%s is unknown: %d of %d operations (%d open) ordered in %v",
				v.Key, v.Ordered, v.Operations, v.Open, v.Took.Round(time.Millisecond)))
		case history.Refuted:
			if t.refuted++; t.refuted > explained {
				bad = append(bad, v.Key+" is REFUTED")
				continue
			}
			files, err := explain(h, v.Key, limit, dir)
			if err != nil {
				files = err.Error()
			}
			bad = append(bad, fmt.Sprintf("%s is REFUTED: %s", v.Key, files))
		}
	}
	if len(bad) == 0 {
		return t, nil
	}
	return t, errors.New(strings.Join(bad, "\n  "))
}

// explain writes why a key was refuted, and returns the paths of the files.
func explain(h *history.History, key string, limit time.Duration, dir string) (string, error) {
	e, err := history.Explain(h, key, limit)
	if err != nil {
		return "", err
	}
	name := strings.ReplaceAll(key, "/", "-")
	text, err := save(dir, name+".txt", func(f *os.File) error { return e.WriteTimeline(f) })
	if err != nil {
		return "", err
	}
	page, err := save(dir, name+".html", func(f *os.File) error { return e.WritePage(f) })
	return text + ", " + page, err
}

// save writes a file, and returns its path.
func save(dir, name string, write func(*os.File) error) (string, error) {
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(write(f), f.Close())
}
