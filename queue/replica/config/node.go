package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks the nodes of a file and notes mistakes. Its methods return zero
// values for what is wrong, so that reading goes on and finds the rest.
type reader struct {
	mistakes []Mistake
}

func (r *reader) mistake(n *yaml.Node, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{n.Line, fmt.Sprintf(format, args...)})
}

// fields reads a mapping of known keys. Each is passed to its function.
func (r *reader) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	r.each(n, what, func(key, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			names := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
			r.mistake(key, "%s has no key %q; its keys are %s", what, key.Value, names)
			return
		}
		read(value)
	})
}

// each reads a mapping of any keys, each of which must be there once.
func (r *reader) each(n *yaml.Node, what string, read func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.mistake(n, "%s must be a mapping { key: value }, not %s", what, kindOf(n))
		return
	}
	seen := map[string]int{}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, value := n.Content[k], n.Content[k+1]
		if key.Kind != yaml.ScalarNode {
			r.mistake(key, "a key of %s must be a word, not %s", what, kindOf(key))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			r.mistake(key, "%s has the key %q twice; the first is in line %d", what, key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		read(key, value)
	}
}

// list reads a sequence of words.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.mistake(n, "%s must be a list [ a, b ], not %s", what, kindOf(n))
		return nil
	}
	var words []*yaml.Node
	for _, item := range n.Content {
		if r.word(item, "an item of "+what) != "" {
			words = append(words, item)
		}
	}
	return words
}

// word reads a text that is not empty.
func (r *reader) word(n *yaml.Node, what string) string {
	switch {
	case n.Kind != yaml.ScalarNode, n.ShortTag() == "!!null":
		r.mistake(n, "%s must be a text, not %s", what, kindOf(n))
		return ""
	case strings.TrimSpace(n.Value) == "":
		r.mistake(n, "%s is empty", what)
		return ""
	}
	return n.Value
}

func (r *reader) boolean(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		r.mistake(n, "%s must be true or false, not %s", what, kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// number reads a whole number from 1 to high; what is wrong gives 0.
func (r *reader) number(n *yaml.Node, what string, high int64) int64 {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		r.mistake(n, "%s must be a whole number, not %s", what, kindOf(n))
		return 0
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
	if err != nil || v < 1 || v > high {
		r.mistake(n, "%s is %s; it must be from 1 to %d", what, n.Value, high)
		return 0
	}
	return v
}

// choice reads one of a few words.
func (r *reader) choice(n *yaml.Node, what string, words ...string) string {
	w := r.word(n, what)
	if w != "" && !slices.Contains(words, w) {
		r.mistake(n, "%s is %q; it must be %s", what, w, strings.Join(words, ", "))
		return ""
	}
	return w
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return n.Value
	}
	return strconv.Quote(n.Value)
}
