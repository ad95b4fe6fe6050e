package counter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// ErrStale is returned for a write with a token lower than the store has seen:
// it comes from an attempt that was given up.
var ErrStale = errors.New("write with an old fence token")

// Entry is what the store keeps for a key.
type Entry struct {
	Value int64  `json:"value"`
	Token uint64 `json:"token"` // of the write
}

// Store is a key-value file that can get and set, and nothing else. It stands
// for a service outside: it knows nothing of actors, and survives them. Safe for
// concurrent use within one process.
type Store struct {
	mu   sync.Mutex
	path string
}

// NewStore returns the store in a file, which comes into being with the first
// write.
func NewStore(path string) *Store { return &Store{path: path} }

// Get returns the entry of a key, a zero one if there is none.
func (s *Store) Get(key string) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.load()
	return entries[key], err
}

// Set writes a value. It returns ErrStale if a write with a higher token has
// been here.
func (s *Store) Set(key string, value int64, token uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.load()
	if err != nil {
		return err
	}
	if seen := entries[key].Token; token < seen {
		return fmt.Errorf("set %s: %w: %d after %d", key, ErrStale, token, seen)
	}
	entries[key] = Entry{Value: value, Token: token}
	return s.save(entries)
}

func (s *Store) load() (map[string]Entry, error) {
	entries := map[string]Entry{}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return entries, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store: %w", err)
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("read store %s: %w", s.path, err)
	}
	return entries, nil
}

// save replaces the file as a whole, so that a killed process leaves the old
// one or the new one.
func (s *Store) save(entries map[string]Entry) error {
	text, err := json.Marshal(entries)
	if err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	if err := os.WriteFile(s.path+".new", text, 0o600); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	if err := os.Rename(s.path+".new", s.path); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	return nil
}
