package pawl

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// selfPrefix is how the names of this package's own functions begin.
var selfPrefix = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name() // "path/of/pawl.init" or ".func1"
	slash := strings.LastIndexByte(name, '/')
	return name[:slash+1+strings.IndexByte(name[slash+1:], '.')+1]
}()

// callerPlace gives the file and line of the innermost caller outside of this
// package: the place of a programmer's mistake. Tests of this package count as
// outside. It is "" when there is none.
func callerPlace() string {
	var pcs [32]uintptr
	n := runtime.Callers(2, pcs[:])
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, selfPrefix) && !strings.HasSuffix(f.File, "_test.go")
		if !inside && f.Line > 0 && !strings.HasPrefix(f.File, "<") {
			return linePlace(f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// pcPlace gives the file and line of a program counter that runtime.Callers
// has returned.
func pcPlace(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return linePlace(f.File, f.Line)
}

// funcPlace gives the file and line at which the function with the entry pc is
// declared, or "" for one that the compiler made.
func funcPlace(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return ""
	}
	file, line := f.FileLine(pc)
	if strings.HasPrefix(file, "<") {
		return ""
	}
	return linePlace(file, line)
}

// linePlace keeps the directory, which tells files of one name apart.
func linePlace(file string, line int) string {
	dir, base := filepath.Split(filepath.ToSlash(file))
	return fmt.Sprintf("%s/%s:%d", filepath.Base(dir), base, line)
}

// at puts a place, if it is known, before an error.
func at(place string, err error) error {
	if place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}
