package v1

import "runtime/debug"

// module is the module of Pawl.
const module = "github.com/pawl-go/pawl"

// Version is the version of Pawl in this program, by its build: "(devel)" of a working
// tree that was not stamped, "" if the build does not tell.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	m := &info.Main
	for _, d := range info.Deps {
		if d.Path == module { // of an application
			m = d
		}
	}
	if m.Replace != nil {
		m = m.Replace
	}
	if m.Version == "" {
		return "(devel)"
	}
	return m.Version
}
