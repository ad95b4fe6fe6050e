package measure

import (
	"os"
	"syscall"
)

// mapped is a file in memory.
type mapped struct {
	f    *os.File
	data []byte
}

func (m *mapped) open(name string, size int) (err error) {
	if m.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	if err = syscall.Fallocate(int(m.f.Fd()), 0, 0, int64(size)); err != nil {
		if err = m.f.Truncate(int64(size)); err != nil {
			return err
		}
	}
	m.data, err = syscall.Mmap(int(m.f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	m.touch()
	if err = m.f.Sync(); err != nil {
		return err
	}
	m.touch() // a page that has been written out faults at the next store
	return nil
}

// touch stores to every page, in small steps.
func (m *mapped) touch() {
	for i := 0; i < len(m.data); i += 4096 {
		m.data[i] = 1
	}
}

func (m *mapped) name() string { return m.f.Name() }

func (m *mapped) flush() error { return syscall.Fdatasync(int(m.f.Fd())) }

func (m *mapped) read(b []byte, off int64) error {
	_, err := m.f.ReadAt(b, off)
	return err
}

func (m *mapped) close() error {
	if err := syscall.Munmap(m.data); err != nil {
		return err
	}
	return m.f.Close()
}
