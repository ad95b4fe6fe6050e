package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The first program of the README is one that runs: examples/hello, without its
// package comment.
func TestReadmeProgramIsTheExample(t *testing.T) {
	readme := read(t, "README.md")
	_, rest, ok := strings.Cut(readme, "```go\n")
	program, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("README.md shows no program")
	}
	_, example, ok := strings.Cut(read(t, "examples/hello/main.go"), "package main\n")
	if !ok {
		t.Fatal("examples/hello/main.go is no program")
	}
	if program != "package main\n"+example {
		t.Error("the program in README.md is not that of examples/hello/main.go: copy it")
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	code = regexp.MustCompile("(?s)```.*?```")
)

// Links within the tree lead somewhere.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md", "../../examples/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			if bytes.Contains(m[1], []byte("://")) {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var functionLink = regexp.MustCompile("\\[`(?:\\w+\\.)?(\\w+)`\\]\\((\\.\\./[^)]+\\.go)\\)")

// The functions that docs/architecture.md names are in the files it says.
func TestArchitectureNamesFunctions(t *testing.T) {
	found := functionLink.FindAllStringSubmatch(read(t, "docs/architecture.md"), -1)
	if len(found) < 10 {
		t.Fatalf("found %d functions in docs/architecture.md: has its form changed?", len(found))
	}
	for _, m := range found {
		file, err := os.ReadFile(filepath.Join("../../docs", m[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[1] + `[\[(]`)
		if !declared.Match(file) {
			t.Errorf("docs/architecture.md: no function %s in %s", m[1], m[2])
		}
	}
}

// Each decision is in the index, and has its number in its title and a status.
func TestDecisionsAreListed(t *testing.T) {
	index := read(t, "docs/decisions/README.md")
	records, err := filepath.Glob("../../docs/decisions/[0-9]*.md")
	if err != nil || len(records) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for _, file := range records {
		name := filepath.Base(file)
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/decisions/README.md does not list %s", name)
		}
		text := read(t, "docs/decisions/"+name)
		number := strings.TrimLeft(name[:4], "0")
		title := regexp.MustCompile(`^# 0*` + number + `[:.] `)
		if !title.MatchString(text) || !strings.Contains(text, "\nStatus: ") {
			t.Errorf("docs/decisions/%s: want a title with its number, and a status", name)
		}
	}
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")

// The tests that the guides name are there.
func TestGuidesNameTests(t *testing.T) {
	var tests strings.Builder
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		for _, m := range testName.FindAllStringSubmatch(read(t, "docs/"+filepath.Base(page)), -1) {
			named++
			if !strings.Contains(tests.String(), "\nfunc "+m[1]+"(") {
				t.Errorf("docs/%s names %s, which is nowhere", filepath.Base(page), m[1])
			}
		}
	}
	if named < 50 {
		t.Errorf("found %d tests in docs: has their form changed?", named)
	}
}

// The picture of the parts in docs/architecture.md has every package, programs
// and examples aside.
func TestArchitectureNamesPackages(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "docs/architecture.md"), "## The parts\n\n```\n")
	parts, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("docs/architecture.md shows no parts: has its form changed?")
	}
	for dir, p := range tree(t) {
		kind, _, _ := strings.Cut(dir, "/")
		if dir == "" || p.name == "main" || kind == "examples" || kind == "bench" {
			continue
		}
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(filepath.Base(dir)) + `\b`)
		if !word.MatchString(parts) {
			t.Errorf("docs/architecture.md: the parts are without %s", dir)
		}
	}
}
