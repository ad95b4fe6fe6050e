package main

import (
	"os"
	"strings"
	"testing"
)

// Who wants no colours can still be asked a question; nobody sits at /dev/null.
func TestTerminal(t *testing.T) {
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	for _, tt := range []struct {
		file                     any
		term, noColor            string
		terminal, moves, colours bool
	}{
		{open("/dev/ptmx"), "xterm", "", true, true, true},
		{open("/dev/ptmx"), "xterm", "1", true, true, false},
		{open("/dev/ptmx"), "dumb", "", true, false, false},
		{open(os.DevNull), "xterm", "", false, false, false},
		{strings.NewReader(""), "xterm", "", false, false, false},
	} {
		t.Setenv("TERM", tt.term)
		t.Setenv("NO_COLOR", tt.noColor)
		if got := isTerminal(tt.file); got != tt.terminal {
			t.Errorf("%+v: a terminal: %v", tt, got)
		}
		if got := movesCursor(tt.file); got != tt.moves {
			t.Errorf("%+v: its cursor moves: %v", tt, got)
		}
		if got := showsColour(tt.file); got != tt.colours {
			t.Errorf("%+v: it shows colours: %v", tt, got)
		}
	}
}
