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
	for i := 0; i < size; i += 4096 { // touch every page, in small steps
		m.data[i] = 1
	}
	return m.f.Sync()
}

func (m *mapped) name() string { return m.f.Name() }

func (m *mapped) flush() error { return syscall.Fdatasync(int(m.f.Fd())) }

func (m *mapped) close() error {
	if err := syscall.Munmap(m.data); err != nil {
		return err
	}
	return m.f.Close()
}
