package v1

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// nesting bounds schemas of types that hold themselves: deeper, anything goes.
const nesting = 4

// SchemaOf is the JSON Schema of what encoding/json makes of a type. It says
// nothing ({}) of types that encode themselves.
func SchemaOf(t reflect.Type) map[string]any { return schemaOf(t, 0) }

func schemaOf(t reflect.Type, depth int) object {
	switch {
	case depth > nesting:
		return object{}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[anyJSON](), implements(t, reflect.TypeFor[json.Marshaler]()):
		return object{}
	case implements(t, reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), depth)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": schemaOf(t.Elem(), depth+1)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem(), depth+1)}
	case reflect.Struct:
		out := object{"type": "object", "properties": object{}, "required": []string{}}
		addFields(out, t, depth)
		return out
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	default:
		return object{"type": "integer"}
	}
}

func implements(t, what reflect.Type) bool {
	return t.Implements(what) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(what)
}

// addFields adds the fields of a struct, with those of structs embedded in it.
func addFields(into object, t reflect.Type, depth int) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			addFields(into, f.Type, depth)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		into["properties"].(object)[name] = schemaOf(f.Type, depth+1)
		if !strings.Contains(opts, "omit") {
			into["required"] = append(into["required"].([]string), name)
		}
	}
}
