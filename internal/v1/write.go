package v1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// etag names a value of state.
func etag(v []byte) string {
	sum := sha256.Sum256(v)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// keyOfState is the cell, or the entry of a map, that the path names.
func keyOfState(r *http.Request) engine.Key {
	k := engine.Key{Cell: r.PathValue("key"), Entry: r.PathValue("entry")}
	k.InMap = r.Pattern == "entry"
	return k
}

// putCell serves PUT .../state/{key} and .../state/{key}/{entry}.
func (h *Handler) putCell(w http.ResponseWriter, r *http.Request) error {
	v, err := h.valueOf(r)
	if err != nil {
		return err
	}
	k := keyOfState(r)
	w.Header().Set("ETag", etag(v))
	return h.writeState(w, r, &k, engine.Write{Op: engine.Put, Key: k, Value: v})
}

// dropCell serves DELETE .../state/{key} and .../state/{key}/{entry}.
func (h *Handler) dropCell(w http.ResponseWriter, r *http.Request) error {
	k := keyOfState(r)
	writes := []engine.Write{{Op: engine.Delete, Key: k}}
	if !k.InMap {
		writes = append(writes, engine.Write{Op: engine.Clear, Key: engine.Key{Cell: k.Cell}})
	}
	return h.writeState(w, r, &k, writes...)
}

// patchState serves PATCH .../state and .../state/{key}: many cells, or many
// entries of a map, in one record. Null removes (RFC 7396, at the top).
func (h *Handler) patchState(w http.ResponseWriter, r *http.Request) error {
	var in map[string]json.RawMessage
	if err := body(r, &in); err != nil {
		return err
	}
	if len(in) == 0 {
		return problem(CodeBadRequest, "the body is a JSON object of what to change")
	}
	var writes []engine.Write
	for _, name := range slices.Sorted(maps.Keys(in)) {
		k := engine.Key{Cell: name}
		if r.Pattern == "key" {
			k = engine.Key{Cell: r.PathValue("key"), Entry: name, InMap: true}
		}
		wr := engine.Write{Op: engine.Put, Key: k, Value: in[name]}
		if string(in[name]) == "null" {
			wr.Op, wr.Value = engine.Delete, nil
		}
		writes = append(writes, wr)
	}
	return h.writeState(w, r, nil, writes...)
}

// deactivate serves POST .../deactivate. What changes the state from outside drops
// the instance; here it removes what no actor has, a cell without a name.
func (h *Handler) deactivate(w http.ResponseWriter, r *http.Request) error {
	return h.writeState(w, r, nil, engine.Write{Op: engine.Delete})
}

// writeState writes, in one record, if the condition on the value at k holds. It
// is compared with what is recorded: a method that runs meanwhile may still come
// between; pause the actor where that matters.
func (h *Handler) writeState(w http.ResponseWriter, r *http.Request, k *engine.Key, writes ...engine.Write) error {
	h.states.Lock()
	defer h.states.Unlock()
	if k != nil {
		if err := h.condition(r, *k); err != nil {
			return err
		}
	}
	if err := h.rt.Session().Operator().Write(r.Context(), actorOf(r), writes); err != nil {
		return refused(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// condition holds If-Match and If-None-Match: * to the recorded value.
func (h *Handler) condition(r *http.Request, k engine.Key) error {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if match == "" && none == "" {
		return nil
	}
	v, ok, err := h.rt.Session().Lookup(r.Context(), actorOf(r), k)
	if err != nil {
		return err
	}
	if (match == "" || ok && (match == "*" || match == etag(v))) && (none == "" || none == "*" && !ok) {
		return nil
	}
	p := problem(CodeConflict, "the value is not the one that the condition names; read it again")
	p.Status = http.StatusPreconditionFailed
	return p
}

// valueOf reads a body that is the application's: JSON, or anything that is said
// to be application/octet-stream.
func (h *Handler) valueOf(r *http.Request) ([]byte, error) {
	v, err := received(r)
	if err != nil {
		return nil, err
	}
	if int64(len(v)) > h.cfg.PayloadLimit {
		return nil, problem(engine.ErrTooLarge, "the body has %d bytes, the limit is %d", len(v), h.cfg.PayloadLimit)
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/octet-stream" && !json.Valid(v) {
		var into any
		return nil, problem(engine.ErrBadPayload, "the body is not JSON: %s", json.Unmarshal(v, &into))
	}
	return v, nil
}
