package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pawl-go/pawl"

// pkg is a package of the module as its sources show it.
type pkg struct {
	dir     string // relative to the module, with slashes; "" is the root
	name    string
	comment string
	imports map[string]string // import path -> a file that has it; tests left out
}

// tree reads every package of the module, without building anything.
func tree(t *testing.T) map[string]*pkg {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pkgs := map[string]*pkg{}
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, file, d)
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		if dir == "." {
			dir = ""
		}
		p := pkgs[dir]
		if p == nil {
			p = &pkg{dir: dir, name: f.Name.Name, imports: map[string]string{}}
			pkgs[dir] = p
		}
		p.add(t, path.Join(dir, filepath.Base(file)), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("found %d packages under %s: is this the module?", len(pkgs), root)
	}
	return pkgs
}

// enter skips what is not the module's: hidden directories, data of tests, and
// modules of their own.
func enter(root, dir string, d fs.DirEntry) error {
	if dir == root {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func (p *pkg) add(t *testing.T, file string, f *ast.File) {
	t.Helper()
	if f.Doc != nil {
		p.comment += f.Doc.Text()
	}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		p.imports[imp] = file
	}
}
