package pawltest

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/pawl-go/pawl"
)

// fields is what the plain fields of an actor hold, each as its own bytes: of a
// slice or a map where it is and how long, not what is in it.
type fields map[string]plain

type plain struct {
	raw string
	at  unsafe.Pointer // of a map
}

// pawlPath is the import path of package pawl.
var pawlPath = reflect.TypeFor[pawl.None]().PkgPath()

// fieldsOf reads the plain fields of an actor: those that are no cells.
func fieldsOf(actor any) fields {
	f := fields{}
	v := reflect.ValueOf(actor).Elem()
	f.read(v, v.Type().Name())
	return f
}

func (f fields) read(v reflect.Value, path string) {
	for i := range v.NumField() {
		f.add(v.Field(i), path+"."+v.Type().Field(i).Name)
	}
}

func (f fields) add(v reflect.Value, path string) {
	switch t := v.Type(); {
	case isCell(t), t.PkgPath() == "sync", t.PkgPath() == "sync/atomic":
	case t.Kind() == reflect.Struct:
		f.read(v, path)
	case t.Kind() == reflect.Map:
		f[path] = plain{raw: raw(v) + strconv.Itoa(v.Len()), at: v.UnsafePointer()}
	default:
		f[path] = plain{raw: raw(v)}
	}
}

// raw is a copy of the bytes of a value that has an address.
func raw(v reflect.Value) string {
	return string(unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size()))
}

// isCell reports whether a type is pawl.Value or pawl.Map.
func isCell(t reflect.Type) bool {
	name := t.Name()
	return t.PkgPath() == pawlPath && (strings.HasPrefix(name, "Value[") || strings.HasPrefix(name, "Map["))
}

// changed names the fields that differ from what they were.
func (f fields) changed(was fields) []string {
	var names []string
	for name, now := range f {
		if before, ok := was[name]; ok && before.raw != now.raw {
			names = append(names, name)
		}
	}
	return names
}

// memory is what the methods of a run have done to plain fields.
type memory struct {
	changed map[changedField]bool
	maps    map[unsafe.Pointer]any // which actor had the map when a method began
	lent    map[string]bool        // fields whose map several actors had: it is not theirs
}

// changedField is a plain field that a method has changed.
type changedField struct{ field, method string }

func newMemory() memory {
	return memory{map[changedField]bool{}, map[unsafe.Pointer]any{}, map[string]bool{}}
}

// begins notes what an actor has when a method begins.
func (m *memory) begins(actor any, f fields) {
	for name, p := range f {
		if p.at == nil {
			continue
		}
		if other, known := m.maps[p.at]; known && other != actor {
			m.lent[name] = true
		}
		m.maps[p.at] = actor
	}
}

// ended notes what a method has changed.
func (m *memory) ended(method string, before, after fields) {
	for _, field := range after.changed(before) {
		m.changed[changedField{field, method}] = true
	}
}

// lost gives the changes that are gone with the memory of their actor.
func (m *memory) lost() []changedField {
	var list []changedField
	for c := range m.changed {
		if !m.lent[c.field] {
			list = append(list, c)
		}
	}
	return list
}
