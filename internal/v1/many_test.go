package v1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/pawl-go/pawl/internal/v1"
)

// TestActsOnMany: by ids and by a filter; a refusal stops nothing.
func TestActsOnMany(t *testing.T) {
	do := boxes(t)
	acted := func(status int, path, body string) (out v1.Acted) {
		t.Helper()
		text, _ := do(status, "POST", path, body)
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return out
	}
	do(204, "POST", "/v1/actors/Box/a/pause", "")
	var ids []string
	for range 3 {
		_, h := do(202, "POST", "/v1/actors/Box/a/tell/Add", "1")
		ids = append(ids, h.Get("Pawl-Invocation"))
	}
	if out := acted(200, "/v1/invocations:answer", `{"filter": {"type": "Box"}, "dry_run": true}`); len(out.Items) != 3 || out.Items[0].Status != "pending" || !out.DryRun {
		t.Errorf("dry: %+v", out)
	}
	out := acted(200, "/v1/invocations:answer", fmt.Sprintf(`{"ids": [%q, "9-9", "x"], "value": 9}`, ids[0]))
	if len(out.Items) != 1 || out.Items[0] != (v1.ActedOn{ID: ids[0], Status: "done"}) || out.Refused["9-9"] == nil || out.Refused["x"].Status != 404 {
		t.Errorf("answered %+v", out)
	}
	out = acted(200, "/v1/invocations:resume", fmt.Sprintf(`{"ids": [%q]}`, ids[1]))
	if len(out.Items) != 0 || out.Refused[ids[1]] == nil {
		t.Errorf("resumed what is pending: %+v", out)
	}
	if out := acted(200, "/v1/invocations:cancel", `{"filter": {"type": "Box"}, "reason": "enough"}`); len(out.Items) != 2 || out.Items[0].Status != "canceled" {
		t.Errorf("canceled %+v", out)
	}
	if out := acted(200, "/v1/invocations:skip", `{"filter": {"type": "Box"}}`); len(out.Items) != 0 {
		t.Errorf("skipped %+v", out)
	}
	for _, body := range []string{`{}`, `{"ids": ["1-1"], "filter": {"type": "Box"}}`, `{"filter": {"tipe": "Box"}}`, `{"filter": {"status": "x"}}`, `[`} {
		do(400, "POST", "/v1/invocations:resume", body)
	}
	do(400, "POST", "/v1/invocations:answer", `{"ids": ["1-1"], "value": 1, "error": {"message": "x"}}`)
}

// TestPurgeMany: by ids, and those that were idle.
func TestPurgeMany(t *testing.T) {
	do := boxes(t)
	for _, id := range []string{"a", "b", "c%2Fd"} {
		do(200, "POST", "/v1/actors/Box/"+id+"/call/Add", "1")
	}
	do(204, "POST", "/v1/actors/Box/w/pause", "")
	do(202, "POST", "/v1/actors/Box/w/tell/Add", "1") // waits, however long
	if got, _ := do(200, "POST", "/v1/actors:purge", `{"type": "Box", "older": "1h"}`); !strings.HasPrefix(got, `{"items":[]`) {
		t.Errorf("purged what is young: %s", got)
	}
	if got, _ := do(200, "POST", "/v1/actors:purge", `{"type": "Box", "older": "1ns", "dry_run": true}`); strings.Count(got, `"id"`) != 3 {
		t.Errorf("would purge %s", got)
	}
	if got, _ := do(200, "POST", "/v1/actors:purge", `{"type": "Box", "ids": ["a"]}`); got != `{"items":[{"id":"a"}]}` {
		t.Errorf("purged %s", got)
	}
	if got, _ := do(200, "POST", "/v1/actors:purge", `{"type": "Box", "older": "1ns"}`); got != `{"items":[{"id":"b"},{"id":"c/d"}]}` {
		t.Errorf("purged %s", got)
	}
	if got, _ := do(200, "GET", "/v1/actors?type=Box", ""); strings.Count(got, `"id"`) != 1 {
		t.Errorf("left %s", got)
	}
	for _, body := range []string{
		`{}`, `{"type": "Box"}`, `{"type": "Box", "ids": ["a"], "older": "1h"}`, `{"type": "Box", "older": "soon"}`, `{"type": "pawl.topic", "ids": ["a"]}`,
	} {
		do(400, "POST", "/v1/actors:purge", body)
	}
}

func TestDrainRefused(t *testing.T) {
	do := boxes(t)
	do(404, "POST", "/v1/components/nobody/drain", "")
	do(400, "POST", "/v1/components/nobody/drain", `{"grace": "soon"}`)
	do(405, "GET", "/v1/components/nobody/drain", "")
}
