package v1

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

type object = map[string]any

// openAPI serves GET /v1/openapi.json: OpenAPI 3.1, made of the table of routes.
func (h *Handler) openAPI(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, http.StatusOK, describe(h.table()))
}

func describe(table []described) object {
	paths := object{}
	for i := range table {
		r := &table[i]
		at, _ := paths[r.path].(object)
		if at == nil {
			at = object{}
			paths[r.path] = at
		}
		at[strings.ToLower(r.method)] = r.describe()
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Pawl", "version": "1",
			"description": "Actors, invocations, state, reminders and topics of one application.",
		},
		"paths": paths,
		"components": object{
			"schemas": object{
				"Problem": schemaOf(reflect.TypeFor[Problem](), 0),
				"Event":   schemaOf(reflect.TypeFor[Event](), 0),
			},
			"securitySchemes": object{
				"token":  object{"type": "http", "scheme": "bearer"},
				"mutual": object{"type": "mutualTLS"},
			},
		},
		// One of them: nothing at a socket or on loopback, else a token or mutual TLS.
		"security": []object{{}, {"token": []string{}}, {"mutual": []string{}}},
	}
}

func (r *described) describe() object {
	params := []object{}
	for segment := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			params = append(params, parameter(strings.TrimSuffix(name, "}"), "path"))
		}
	}
	for name := range strings.FieldsSeq(r.query) {
		if name == anyQuery {
			continue
		}
		if header, ok := strings.CutSuffix(name, ":"); ok {
			params = append(params, parameter(header, "header"))
		} else {
			params = append(params, parameter(name, "query"))
		}
	}
	op := object{
		"operationId": strings.ToLower(r.method) + strings.NewReplacer("/v1/", "-", "/", "-", "{", "", "}", "", ":", "-", ".", "-").Replace(r.path),
		"summary":     r.summary,
		"parameters":  params,
		"responses":   r.responses(),
	}
	if r.in != nil {
		op["requestBody"] = object{"content": content(r.in)}
	}
	return op
}

// responses describes the answers by their status.
func (r *described) responses() object {
	status, ok := r.status, object{"description": "done"}
	if status == 0 {
		status = http.StatusOK
	}
	if r.out != nil {
		ok["content"] = content(r.out)
	}
	all := object{
		strconv.Itoa(status): ok,
		"default": object{"description": "a problem (RFC 9457)", "content": object{
			"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}},
		}},
	}
	switch r.out.(type) {
	case result:
		all["202"] = object{"description": "it goes on", "content": content(Accepted{})}
		all["204"] = object{"description": "done, without a value"}
	case acted:
		all["202"] = object{"description": "it goes on, or ends once its code has returned", "content": content(r.out)}
		all["204"] = object{"description": "nothing is kept of it"}
	case anyJSON:
		all["204"] = object{"description": "an empty value"}
	}
	return all
}

func parameter(name, in string) object {
	return object{"name": name, "in": in, "required": in == "path", "schema": object{"type": "string"}}
}

// content describes a body; of a stream, what the data of one event is.
func content(v any) object {
	switch v.(type) {
	case eventStream:
		return object{"text/event-stream": object{"schema": object{
			"type": "string", "contentMediaType": "application/json",
			"contentSchema": object{"$ref": "#/components/schemas/Event"},
		}}}
	case anyJSON, result:
		return object{"application/json": object{}, "application/octet-stream": object{}}
	case acted:
		return content(Invocation{})
	case plainText:
		return object{"text/plain": object{}}
	}
	return object{"application/json": object{"schema": schemaOf(reflect.TypeOf(v), 0)}}
}
