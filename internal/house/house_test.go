package house

import (
	"slices"
	"strings"
	"testing"
)

// arrows says what a package, named by its directory, may import of the
// module. The longest row that is a prefix of the directory counts; "/..."
// stands for everything below. Arrows point down only.
var arrows = map[string][]string{
	"queue":             {"queue/..."},
	"service":           {"queue/..."},
	"mesh":              {"mesh/..."},
	"engine":            {"engine/chain", "engine/trace"},
	"engine/actors":     {"engine"},
	"engine/chain":      {"engine"},
	"engine/trace":      {},
	"engine/enginetest": {"engine", "engine/chain", "engine/trace", "internal/runtime", "spec/check"}, // it drives an engine with the real runtime
	"engine/local":      {"engine", "engine/actors", "engine/chain", "engine/trace", "engine/local/...", "internal/mutant", "queue/..."},
	"engine/remote":     {"engine", "engine/remote/...", "engine/trace", "internal/socket", "internal/tlsfiles"},
	"internal/mutant":   {},
	"internal/ports":    {},
	"internal/stage":    {}, // it sees the program from outside, as processes
	"internal/rig":      {"internal/stage"},
	"conformance":       {"spec/check", "internal/rig"},
	"internal/runtime":  {"engine", "engine/actors", "engine/chain", "engine/trace", "internal/mutant", "internal/runtime/..."},
	"internal/house":    {},
	"internal/probe":    {"engine", "internal/runtime"},
	"internal/sim":      {"engine", "engine/trace", "engine/local/memdisk", "internal/runtime", "internal/sim/...", "queue", "spec/check"},
	"internal/socket":   {},
	"internal/tlsfiles": {"internal/tlsfiles/..."},
	"internal/topics":   {"engine", "internal/runtime"},
	"internal/v1":       {"engine", "engine/chain", "internal/runtime", "internal/socket", "internal/tlsfiles", "internal/topics", "internal/v1/..."},
	"sidecar":           {"engine", "internal/ports", "internal/runtime", "internal/topics", "internal/v1", "sidecar/..."},
	"spec":              {"spec/..."},
	"spec/check":        {"engine/trace", "spec"},
	"":                  {"engine", "engine/chain", "engine/local", "engine/remote", "internal/..."},
	"cmd":               {"", "engine/...", "internal/...", "mesh", "queue/...", "bench/...", "cmd/...", "sidecar/..."},
	"pawltest":          {"", "engine/...", "internal/probe", "internal/runtime", "queue", "spec/check"}, // a test kit: it may look inside
	"examples":          {"", "engine/local", "examples/...", "internal/rig", "internal/stage", "spec/check"},
	"examples/orders":   {"examples/orders", "queue", "service"},
	"examples/chat":     {"mesh", "mesh/gossip"}, // the mesh stands alone
	"bench":             {"", "engine/...", "internal/rig", "internal/stage", "mesh", "queue/...", "bench/..."},

	"examples/internal/hosts": {"examples/internal/crash", "internal/ports", "queue/replica", "queue/replica/config", "queue/replica/control"}, // it is the operator
}

// confined names modules of others that only some packages may import, and why.
var confined = []struct {
	prefix string
	within []string
	why    string
}{
	{"github.com/cockroachdb/pebble", []string{"engine/local"}, "only the local engine has a store"},
	{"github.com/hashicorp/memberlist", []string{"mesh/gossip"}, "gossip is for who asks for it"},
	{"go.etcd.io/raft", []string{"queue/replica/elect"}, "nothing else elects"},
	{"github.com/spf13/cobra", []string{"cmd", "queue/queuecmd"}, "flags are the command line's"},
}

func TestArrows(t *testing.T) {
	for _, p := range tree(t) {
		row, ok := rowOf(p.dir)
		if !ok {
			t.Errorf("package %s has no row: say in internal/house what it may import", p.dir)
			continue
		}
		for imp, file := range p.imports {
			rest, ours := strings.CutPrefix(imp, module)
			if ours && !allowed(arrows[row], strings.TrimPrefix(rest, "/")) {
				t.Errorf("%s imports %s: not an arrow of %q", file, imp, row)
			}
		}
	}
}

func TestConfinedModules(t *testing.T) {
	for _, p := range tree(t) {
		for imp, file := range p.imports {
			for _, c := range confined {
				within := slices.ContainsFunc(c.within, func(tree string) bool { return below(p.dir, tree) })
				if strings.HasPrefix(imp, c.prefix) && !within {
					t.Errorf("%s imports %s: %s", file, imp, c.why)
				}
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range tree(t) {
		if p.comment == "" {
			t.Errorf("package %s (in %q) has no package comment", p.name, p.dir)
			continue
		}
		want := "Package " + p.name + " "
		if p.name != "main" && !strings.HasPrefix(p.comment, want) {
			t.Errorf("the comment of package %s does not begin with %q", p.dir, want)
		}
	}
}

func TestPackageNames(t *testing.T) {
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared", "base"}
	for _, p := range tree(t) {
		if slices.Contains(empty, p.name) {
			t.Errorf("package %s: a name that says nothing", p.dir)
		}
	}
}

// rowOf finds the longest row of arrows that holds dir.
func rowOf(dir string) (string, bool) {
	best, found := "", false
	for row := range arrows {
		if below(dir, row) && (row != "" || dir == "") && (!found || len(row) > len(best)) {
			best, found = row, true
		}
	}
	return best, found
}

// allowed reports whether a row permits an import of the module's package dir.
func allowed(row []string, dir string) bool {
	return slices.ContainsFunc(row, func(pattern string) bool {
		if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
			return below(dir, tree)
		}
		return dir == pattern
	})
}

func below(dir, tree string) bool {
	return tree == "" || dir == tree || strings.HasPrefix(dir, tree+"/")
}

func TestRowOf(t *testing.T) {
	for dir, want := range map[string]string{
		"": "", "queue": "queue", "engine": "engine", "engine/local": "engine/local",
		"engine/local/flow": "engine/local", "engine/other": "engine", "cmd/pawl": "cmd",
	} {
		if got, ok := rowOf(dir); !ok || got != want {
			t.Errorf("rowOf(%q) = %q, %v; want %q", dir, got, ok, want)
		}
	}
	if row, ok := rowOf("nowhere"); ok {
		t.Errorf("rowOf(nowhere) = %q, want none", row)
	}
	if allowed([]string{"engine"}, "engine/local") || !allowed([]string{"queue/..."}, "queue/replica") {
		t.Error("allowed does not tell a package from what is below it")
	}
}
