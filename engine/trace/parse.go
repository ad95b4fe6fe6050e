package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Parse reads one line, without its end. It accepts what [Event.Append] writes,
// in any order and with spaces between, and nothing else.
func Parse(line []byte) (Event, error) {
	var e Event
	p := parser{b: line}
	p.object(func(name []byte) { p.event(&e, name) })
	if p.space(); p.err == nil && p.at < len(p.b) {
		p.fail(errors.New("something follows the event on its line"))
	}
	if p.err != nil {
		return Event{}, p.err
	}
	if err := e.valid(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// parser reads the JSON of a line: a trace has many, and reflection takes eight
// times as long. After an error it reads nothing more.
type parser struct {
	b   []byte
	at  int
	err error
}

var errShort = errors.New("the line ends in the middle of an event")

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) space() {
	for p.at < len(p.b) && (p.b[p.at] == ' ' || p.b[p.at] == '\t' || p.b[p.at] == '\r') {
		p.at++
	}
}

// peek gives the next character that is not a space; 0 after an error.
func (p *parser) peek() byte {
	if p.space(); p.err != nil {
		return 0
	}
	if p.at == len(p.b) {
		p.fail(errShort)
		return 0
	}
	return p.b[p.at]
}

// take takes the character if it is the next.
func (p *parser) take(c byte) bool {
	if p.peek() != c || p.err != nil {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(c byte) {
	if !p.take(c) && p.err == nil {
		p.fail(fmt.Errorf("character %d is %q, not %q", p.at+1, p.b[p.at], c))
	}
}

// object reads an object; field reads the value of the name that it is given.
func (p *parser) object(field func(name []byte)) {
	p.expect('{')
	for first := true; p.err == nil && !p.take('}'); first = false {
		if !first {
			p.expect(',')
		}
		name := p.raw()
		p.expect(':')
		if p.err == nil {
			field(name)
		}
	}
}

func (p *parser) list(item func()) {
	p.expect('[')
	for first := true; p.err == nil && !p.take(']'); first = false {
		if !first {
			p.expect(',')
		}
		item()
	}
}

// raw reads a string without escapes, as a part of the line.
func (p *parser) raw() []byte {
	p.expect('"')
	for i := p.at; i < len(p.b) && p.err == nil; i++ {
		switch c := p.b[i]; {
		case c == '"':
			s := p.b[p.at:i]
			p.at = i + 1
			return s
		case c == '\\' || c < ' ':
			p.fail(fmt.Errorf("character %d is %q, in a name", i+1, c))
		}
	}
	p.fail(errShort)
	return nil
}

func (p *parser) text() string {
	p.expect('"')
	escaped, wide := false, false
	for i := p.at; i < len(p.b) && p.err == nil; i++ {
		switch c := p.b[i]; {
		case c == '\\':
			escaped = true
			i++
		case c == '"':
			s := p.b[p.at:i]
			from := p.at - 1
			p.at = i + 1
			switch {
			case wide && !utf8.Valid(s):
				p.fail(fmt.Errorf("the string at character %d is not UTF-8", from+1))
			case escaped:
				return p.unescape(from)
			}
			return string(s)
		case c < ' ':
			p.fail(fmt.Errorf("character %d is %q, in a string", i+1, c))
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	p.fail(errShort)
	return ""
}

// unescape reads the string from a place on again, with its escapes.
func (p *parser) unescape(from int) (s string) {
	if err := json.Unmarshal(p.b[from:p.at], &s); err != nil {
		p.fail(fmt.Errorf("the string at character %d: %w", from+1, err))
	}
	return s
}

func (p *parser) uint(most uint64) (v uint64) {
	c := p.peek()
	from := p.at
	for ; p.at < len(p.b) && p.b[p.at] >= '0' && p.b[p.at] <= '9'; p.at++ {
		d := uint64(p.b[p.at] - '0')
		if v > (most-d)/10 {
			p.fail(fmt.Errorf("the number at character %d is above %d", from+1, most))
			return 0
		}
		v = v*10 + d
	}
	if n := p.at - from; n == 0 || n > 1 && c == '0' {
		p.fail(fmt.Errorf("at character %d stands %q, not a number", from+1, c))
	}
	return v
}

func (p *parser) uint32() uint32 { return uint32(p.uint(math.MaxUint32)) }

// flag reads true: what is false is left out.
func (p *parser) flag() bool {
	p.peek()
	const word = "true"
	if rest := p.b[p.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		p.fail(fmt.Errorf("at character %d stands no %q", p.at+1, word))
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) unknown(name []byte) { p.fail(fmt.Errorf("unknown field %q", name)) }

func (p *parser) event(e *Event, name []byte) {
	switch string(name) {
	case "kind":
		e.Kind = Kind(p.text())
	case "at":
		e.At = p.uint(math.MaxUint64)
	case "more":
		e.More = p.flag()
	case "replayed":
		e.Replayed = p.flag()
	case "session":
		e.Session = p.uint(math.MaxUint64)
	case "id", "step", "n":
		p.attempt(&e.Attempt, name)
	case "actor":
		e.Actor = p.text()
	case "method":
		e.Method = p.text()
	case "by":
		p.object(func(name []byte) { p.attempt(&e.By, name) })
	case "under":
		p.object(func(name []byte) { p.attempt(&e.Under, name) })
	case "callee":
		e.Callee = p.text()
	case "hash":
		e.Hash = p.text()
	case "code":
		e.Code = p.text()
	case "cells":
		p.list(func() {
			var c Cell
			p.object(func(name []byte) { p.cell(&c, name) })
			e.Cells = append(e.Cells, c)
		})
	case "form", "caller", "waiter", "once", "keyed", "scheduled":
		p.send(e, name)
	case "end", "to", "to_method", "in_place", "forced", "operator", "kept":
		p.outcome(e, name)
	default:
		p.rest(e, name)
	}
}

func (p *parser) attempt(a *Attempt, name []byte) {
	switch string(name) {
	case "id":
		a.ID = p.text()
	case "step":
		a.Step = p.uint32()
	case "n":
		a.N = p.uint32()
	default:
		p.unknown(name)
	}
}

func (p *parser) cell(c *Cell, name []byte) {
	switch string(name) {
	case "cell":
		c.Cell = p.text()
	case "entry":
		c.Entry = p.text()
	case "map":
		c.InMap = p.flag()
	case "clear":
		c.Clear = p.flag()
	case "hash":
		c.Hash = p.text()
	default:
		p.unknown(name)
	}
}

func (p *parser) send(e *Event, name []byte) {
	switch string(name) {
	case "form":
		e.Form = p.text()
	case "caller":
		e.Caller = p.text()
	case "waiter":
		e.Waiter = p.text()
	case "once":
		e.Once = p.flag()
	case "keyed":
		e.Keyed = p.flag()
	case "scheduled":
		e.Scheduled = p.flag()
	}
}

func (p *parser) outcome(e *Event, name []byte) {
	switch string(name) {
	case "end":
		e.End = p.text()
	case "to":
		e.To = p.text()
	case "to_method":
		e.ToMethod = p.text()
	case "in_place":
		e.InPlace = p.flag()
	case "forced":
		e.Forced = p.flag()
	case "operator":
		e.Operator = p.flag()
	case "kept":
		e.Kept = p.flag()
	}
}

func (p *parser) rest(e *Event, name []byte) {
	switch string(name) {
	case "fresh":
		e.Fresh = p.flag()
	case "strict":
		e.Strict = p.flag()
	case "op":
		e.Op = p.text()
	case "name":
		e.Name = p.text()
	case "types":
		p.list(func() { e.Types = append(e.Types, p.text()) })
	case "epoch":
		e.Epoch = p.uint(math.MaxUint64)
	case "lost":
		e.Lost = p.uint32()
	case "removed":
		e.Removed = p.flag()
	case "at_once":
		e.AtOnce = p.flag()
	default:
		p.unknown(name)
	}
}
