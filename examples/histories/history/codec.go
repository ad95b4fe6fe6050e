package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// line is one line of a recorded history: an operation or an event.
type line struct {
	Operation *Operation `json:"operation,omitempty"`
	Event     *Event     `json:"event,omitempty"`
}

// lineLimit bounds a line, in bytes.
const lineLimit = 1 << 20

// WriteTo writes the history as JSON, an operation or an event a line:
//
//	{"event":{"what":"killed","at_ns":2500000}}
//	{"operation":{"key":"Register/3","client":1,"kind":"read","call_ns":1200000,"return_ns":1900000,"value":5}}
func (h *History) WriteTo(w io.Writer) (int64, error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for i := range h.Events {
		if err := lines.Encode(line{Event: &h.Events[i]}); err != nil {
			return 0, fmt.Errorf("write history: %w", err)
		}
	}
	for i := range h.Operations {
		if err := lines.Encode(line{Operation: &h.Operations[i]}); err != nil {
			return 0, fmt.Errorf("write history: %w", err)
		}
	}
	n, err := text.WriteTo(w)
	if err != nil {
		return n, fmt.Errorf("write history: %w", err)
	}
	return n, nil
}

// Parse reads what WriteTo has written. An error names the line, and the history
// up to there is returned with it.
func Parse(r io.Reader) (*History, error) {
	h := &History{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineLimit)
	n := 0
	for lines.Scan() {
		n++
		if err := h.parse(lines.Bytes()); err != nil {
			return h, fmt.Errorf("read history, line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return h, fmt.Errorf("read history, line %d: %w", n+1, err)
	}
	return h, nil
}

func (h *History) parse(text []byte) error {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fmt.Errorf("it is cut or damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it is damaged: more than one value")
	}
	switch {
	case l.Operation != nil && l.Event == nil:
		if err := l.Operation.validate(); err != nil {
			return err
		}
		h.Operations = append(h.Operations, *l.Operation)
	case l.Event != nil && l.Operation == nil:
		h.Events = append(h.Events, *l.Event)
	default:
		return errors.New("it is neither an operation nor an event")
	}
	return nil
}
