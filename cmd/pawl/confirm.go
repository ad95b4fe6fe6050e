package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pawl-go/pawl/internal/v1"
)

// confirm asks a question on a terminal. Without one it refuses: a program
// says --yes.
func (c *cli) confirm(question string) error {
	nobody := usagef("%s Nobody is here to ask: say --yes", question)
	if !isTerminal(c.in) {
		return nobody
	}
	fmt.Fprint(c.errs, question+" [y/N] ")
	line, err := bufio.NewReader(c.in).ReadString('\n')
	switch {
	case errors.Is(err, io.EOF):
		return nobody
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &failure{exit: v1.ExitRefused, text: "not done"}
}
