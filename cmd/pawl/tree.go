package main

import (
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/internal/v1"
)

// tree prints who waits for whom; the invocation that was asked for is marked.
func (c *cli) tree(t *v1.Tree, depth int) {
	mark := "  "
	if t.Asked {
		mark = "> "
	}
	fmt.Fprintf(c.out, "%s%s%s %s/%s %s %s\n", mark, strings.Repeat("  ", depth), t.ID, t.Type, t.Actor, t.Method,
		c.paint(statusColour(t.Status), string(t.Status)))
	for i := range t.Children {
		c.tree(&t.Children[i], depth+1)
	}
}
