package topics

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-go/pawl/engine"
)

// message is a Subscription as requests carry it and as state keeps it.
type message struct {
	Type        text   `json:"type"`
	ID          text   `json:"id"`
	Name        text   `json:"name"`
	Topic       text   `json:"topic"`
	Method      text   `json:"method,omitempty"`
	Array       bool   `json:"array,omitempty"`
	ContentType string `json:"content_type,omitempty"`
}

func messageOf(s *Subscription) *message {
	return &message{
		Type: text(s.Actor.Type), ID: text(s.Actor.ID), Name: text(s.Name), Topic: text(s.Topic),
		Method: text(s.Method), Array: s.Array, ContentType: s.ContentType,
	}
}

func (m *message) actor() engine.Actor { return engine.Actor{Type: string(m.Type), ID: string(m.ID)} }

func (m *message) subscription() Subscription {
	return Subscription{
		Actor: m.actor(), Name: string(m.Name), Topic: string(m.Topic),
		Method: string(m.Method), Array: m.Array, ContentType: m.ContentType,
	}
}

// key is the cell of a topic that holds the subscription: short, and different
// for different ones whatever their bytes.
func (m *message) key() string {
	return subscriptionCell + engine.Derive("subscription", string(m.Type), string(m.ID), string(m.Name)).String()
}

func (m *message) encode() []byte {
	b, err := json.Marshal(m)
	if err != nil { // strings and a bool: a programmer's error
		panic(fmt.Sprintf("topics: encode subscription: %v", err))
	}
	return b
}

func decode(b []byte) (*message, error) {
	m := &message{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("decode subscription: %w", err)
	}
	return m, nil
}

// text is a string of any bytes in JSON: itself, or {"base64": "..."}.
type text string

type encoded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var e encoded
	err := json.Unmarshal(b, &e)
	*t = text(e.Base64)
	return err
}
