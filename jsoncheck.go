package pawl

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// jsonCheck looks for what encoding/json would drop in silence or refuse at run
// time: unexported fields, channels, functions, complex numbers, interfaces that
// cannot be decoded.
type jsonCheck struct {
	seen     map[reflect.Type]bool
	mistakes []error
}

// jsonMistakes gives what JSON would lose of a type, each with the path to it.
func jsonMistakes(t reflect.Type) []error {
	c := jsonCheck{seen: map[reflect.Type]bool{}}
	c.check(t, typeLabel(t))
	return c.mistakes
}

func typeLabel(t reflect.Type) string {
	if t.Name() != "" {
		return t.Name()
	}
	return t.String()
}

func (c *jsonCheck) mistake(path, format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

func (c *jsonCheck) check(t reflect.Type, path string) {
	if c.seen[t] || ownMarshaler(t) {
		return
	}
	c.seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		c.mistake(path, "%v cannot be encoded", t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			c.mistake(path, "the interface %v cannot be decoded: use a concrete type", t)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		c.check(t.Elem(), path)
	case reflect.Map:
		if !keyable(t.Key()) {
			c.mistake(path, "a map's key cannot be %v", t.Key())
		}
		c.check(t.Elem(), path)
	case reflect.Struct:
		for f := range t.Fields() {
			c.field(f, path)
		}
	default:
	}
}

func (c *jsonCheck) field(f reflect.StructField, path string) {
	tag := f.Tag.Get("json")
	if tag == "-" || f.Name == "_" {
		return // left out on purpose
	}
	path += "." + f.Name
	embedded := f.Type
	if embedded.Kind() == reflect.Pointer {
		embedded = embedded.Elem()
	}
	switch {
	case f.IsExported():
		c.check(f.Type, path)
	case f.Anonymous && embedded.Kind() == reflect.Struct:
		// JSON takes the exported fields of an embedded struct, whatever its name.
		if f.Type.Kind() == reflect.Pointer {
			c.mistake(path, "an embedded pointer to the unexported %v cannot be decoded", embedded)
			return
		}
		c.check(f.Type, path)
	case f.Type.Size() > 0:
		c.mistake(path, "the unexported field would be dropped: export it, or tag it `json:\"-\"`")
	}
}

// ownMarshaler reports types that know how to encode themselves.
func ownMarshaler(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// keyable reports what JSON can make a map's key of.
func keyable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	default:
		return t.Implements(textMarshaler)
	}
}

// hasReferences reports whether values of the type share memory when copied, so
// that a change of one would show in the other. Strings do not: they never
// change.
func hasReferences(t reflect.Type) bool {
	if t.PkgPath() == "time" && t.Name() == "Time" {
		return false // its location is never changed
	}
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if hasReferences(f.Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return t.Len() > 0 && hasReferences(t.Elem())
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return true
	default:
		return false
	}
}

// cellTag reads the tag `pawl:"name,was=old,was=older"`.
func cellTag(tag reflect.StructTag) (name string, was []string, err error) {
	name, rest, _ := strings.Cut(tag.Get("pawl"), ",")
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, ",")
		old, ok := strings.CutPrefix(part, "was=")
		if !ok || old == "" {
			return "", nil, fmt.Errorf("the tag pawl:%q has %q where was=NAME may stand", tag.Get("pawl"), part)
		}
		was = append(was, old)
	}
	return name, was, nil
}
