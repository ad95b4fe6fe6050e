package queue

import "errors"

// kinder is a Dir that knows its file system.
type kinder interface {
	// Kind names the file system, and says whether its mappings show what any
	// process on any host writes.
	Kind() (name string, coherent bool, err error)
}

// openDir opens the directory of a queue and refuses it where it cannot be mapped
// safely.
func openDir(fsys FS, path string, create, anyKind bool) (Dir, error) {
	d, err := fsys.OpenDir(path, create)
	if err != nil {
		return nil, err
	}
	k, ok := d.(kinder)
	if !ok || anyKind {
		return d, nil
	}
	name, coherent, err := k.Kind()
	if err == nil && !coherent {
		err = &FileSystemError{Path: path, Kind: name}
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// incoherent are the file systems, by what statfs calls their type, on which a
// mapping may differ from what others see or locks may mean little.
var incoherent = map[uint32]string{
	0x6969:     "nfs",
	0x517B:     "smb",
	0xFF534D42: "cifs",
	0xFE534D42: "smb2",
	0x65735546: "fuse",
	0x01021997: "9p",
	0x00C36400: "ceph",
	0x5346414F: "afs",
	0x6B414653: "afs",
	0x73757245: "coda",
	0x564C:     "ncp",
	0x0BD00BD0: "lustre",
	0x47504653: "gpfs",
	0x19830326: "fhgfs",
	0x7461636F: "ocfs2",
	0x01161970: "gfs2",
	0x786F4256: "vboxsf",
	0xBACBACBC: "vmhgfs",
}
