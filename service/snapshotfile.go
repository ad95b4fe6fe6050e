package service

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/pawl-go/pawl/queue"
)

// The file of a snapshot, NAME-NUMBER.snapshot:
//
//	 0 ┬ magic "PAWLSNAP"
//	 8 ┼ version, CRC32C of all that follows, 4 bytes each, little endian
//	16 ┼ begin    uvarint: of the output queue, or 0 without one
//	   ┼ output   uvarint: last entry that the state covers, or 0
//	   ┼ check    CRC32C of that entry, 4 bytes little endian
//	   ┼ positions  count; source and index of the last handled input of each
//	   ┴ state    the rest, as the handler gave it
const (
	snapshotMagic   = "PAWLSNAP"
	snapshotVersion = 1
	snapshotHeader  = 16
)

// snapshot is a state and what it covers.
type snapshot struct {
	path      string // for errors
	begin     queue.Index
	output    queue.Index
	check     uint32 // of that output
	positions []Hop
	state     []byte
}

func (sn *snapshot) encode() []byte {
	b := append(make([]byte, 0, snapshotHeader+64+len(sn.state)), snapshotMagic...)
	b = binary.LittleEndian.AppendUint32(b, snapshotVersion)
	b = append(b, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(sn.begin))
	b = binary.AppendUvarint(b, uint64(sn.output))
	b = binary.LittleEndian.AppendUint32(b, sn.check)
	b = appendHops(b, sn.positions)
	b = append(b, sn.state...)
	binary.LittleEndian.PutUint32(b[12:], checkOf(b[snapshotHeader:]))
	return b
}

func (sn *snapshot) decode(b []byte) error {
	switch {
	case len(b) < snapshotHeader || string(b[:8]) != snapshotMagic:
		return errors.New("it is no snapshot")
	case binary.LittleEndian.Uint32(b[12:]) != checkOf(b[snapshotHeader:]):
		return errors.New("its check does not match")
	case binary.LittleEndian.Uint32(b[8:]) != snapshotVersion:
		return errors.New("its version is not known")
	}
	r := fieldReader{rest: b[snapshotHeader:]}
	sn.begin, sn.output = queue.Index(r.number()), queue.Index(r.number())
	sn.check = r.fixed32()
	sn.positions = r.hops(nil)
	sn.state = r.rest
	if r.bad {
		return errors.New("a field does not read")
	}
	return nil
}

// within says what is wrong if the snapshot covers more of an input than through.
func (sn *snapshot) within(source uint32, through queue.Index) string {
	for _, h := range sn.positions {
		if h.Source == source && h.Index <= through && sn.begin == 0 {
			return ""
		}
	}
	return "it covers more than the position"
}

func readFile(d queue.Dir, name string) ([]byte, error) {
	f, err := d.Open(name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	if n > math.MaxInt32 {
		return nil, errors.New("it is larger than any snapshot")
	}
	b := make([]byte, n)
	if n > 0 {
		_, err = f.ReadAt(b, 0)
	}
	return b, err
}

// writeFile makes a file under its name whole, and durably so.
func writeFile(d queue.Dir, name string, b []byte, before func() error) error {
	tmp := name + ".new"
	_ = d.Remove(tmp) // of a crash, if any
	f, err := d.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.Remove(tmp))
	}
	if err := before(); err != nil {
		return err
	}
	if err := d.Rename(tmp, name); err != nil {
		return err
	}
	return d.Sync()
}
