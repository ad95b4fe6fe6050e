package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pawl-go/pawl/bench/measure"
)

func TestSmoke(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			if _, err := program("initdb"); store == "postgres" && err != nil {
				t.Skip(err)
			}
			var out bytes.Buffer
			o := options{store: store, clients: 2, keys: 3, depth: 2, ops: 20, json: true}
			if err := run(t.Context(), &o, &out); err != nil {
				t.Fatal(err)
			}
			var r measure.Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Ops != 20 {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}
