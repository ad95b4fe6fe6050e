//go:build !linux

package measure

import "os"

// mapped is a file that is written whole where there is no mapping: its flush
// is then no fair measure, but the jobs run.
type mapped struct {
	f    *os.File
	data []byte
}

func (m *mapped) open(name string, size int) (err error) {
	m.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	m.data = make([]byte, size)
	return err
}

func (m *mapped) name() string { return m.f.Name() }

func (m *mapped) flush() error {
	if _, err := m.f.WriteAt(m.data[:4096], 0); err != nil {
		return err
	}
	return m.f.Sync()
}

func (m *mapped) read(b []byte, off int64) error {
	copy(b, m.data[off:])
	return nil
}

func (m *mapped) close() error { return m.f.Close() }
