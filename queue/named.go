package queue

// NamedTailer is a Tailer whose position is kept under a name. It belongs to one
// goroutine at a time.
type NamedTailer struct {
	*Tailer
	pos *Position
}

// NewNamedTailer makes a tailer that goes on where the last one of that name has
// committed; see OpenPosition for names, options and errors. Close it to give
// the name back.
func (q *Queue) NewNamedTailer(name string, o PositionOptions) (*NamedTailer, error) {
	p, err := q.OpenPosition(name, o)
	if err != nil {
		return nil, err
	}
	return &NamedTailer{Tailer: q.NewTailer(p.Index()), pos: p}, nil
}

// Commit says that everything the tailer has returned so far is dealt with: the
// next tailer of this name begins behind it. Call it after the effect of an entry
// and each entry is dealt with at least once; before it, at most once. It survives
// the death of the process as Position.Set does; follow it with Sync where a
// power cut counts.
func (t *NamedTailer) Commit() error { return t.pos.Set(t.want) }

// Sync makes what was committed survive a power cut.
func (t *NamedTailer) Sync() error { return t.pos.Sync() }

// Position is the position of the tailer; it stays open until Close.
func (t *NamedTailer) Position() *Position { return t.pos }

// Close ends the tailer and gives its name back. What was not committed will be
// read again.
func (t *NamedTailer) Close() error {
	t.Tailer.Close()
	return t.pos.Close()
}
