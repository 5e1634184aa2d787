package backsight_test

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/backsight/backsight"

// imports says which packages of this module a package may import outside its
// tests; * stands for one path element. The first rule that matches a package is
// the one that holds. Data goes one way, from a capture to its reader: no stage
// imports a later one, and siblings do not import each other.
var imports = []struct{ pkg, may string }{
	{"cpu", ""},
	{"cpu/*", "cpu"},
	{"internal/bin", ""},
	{"internal/budget", ""},
	{"internal/inflate", ""},
	{"internal/mapped", ""},
	{"internal/gdbremote", "cpu"},
	{"internal/difftest", "cpu"},
	{"internal/synth", "cpu image target"},
	{"internal/synth/recorded", "lab/truth"},
	{"internal/synth/captured", "* */* internal/unwind/* internal/synth/recorded"},
	// Mapping a file is the same for a capture and for an executable.
	{"image", "cpu internal/bin internal/budget internal/mapped"},
	{"image/*", "cpu internal/bin internal/budget internal/inflate image"},
	{"target", "cpu image"},
	{"input", "cpu image target internal/bin internal/budget internal/mapped"},
	{"input/*", "cpu image image/* target internal/bin internal/budget input"},
	// DWARF expressions are bytes of a file, evaluated while walking.
	{"unwind/rule", "cpu"},
	{"internal/evaluate", "cpu image target internal/bin unwind/rule"},
	{"internal/packed", "cpu unwind/rule"},
	{"internal/callsite", "cpu image target"},
	{"unwind", "cpu image target internal/bin internal/budget internal/callsite internal/evaluate internal/packed unwind/rule"},
	{"internal/unwind/*", "cpu image target internal/bin internal/budget internal/callsite internal/packed unwind unwind/*"},
	{"symbol", "cpu image target internal/bin internal/budget"},
	{"report", "cpu image target unwind symbol"},
	{"render", "cpu image target unwind symbol report"},
	{"", "cpu cpu/* image image/* target input input/* unwind internal/unwind/* symbol report"},
	{"cmd/*", "* */* internal/unwind/*"},
	{"bench", "* */* internal/unwind/*"},
	{"lab", "* */* internal/unwind/*"},
	{"lab/*", "* */* internal/unwind/*"},
}

// edges may use modules of other authors: formats that need a decompressor, what
// makes names readable, and the command line.
var edges = map[string][]string{
	"image/elf":     {"github.com/klauspost/compress", "github.com/ulikunitz/xz"},
	"input":         {"github.com/klauspost/compress"},
	"symbol":        {"github.com/ianlancetaylor/demangle"},
	"cmd/backsight": {"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
}

type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// packages lists those of this module with their imports outside of tests.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal("go list: ", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestImports holds the layers of DESIGN.md.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := short(p.ImportPath)
		may, ok := allowed(name)
		if !ok {
			t.Errorf("%s: no rule says what this package may import", name)
		}
		for _, imp := range p.Imports {
			switch {
			case !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."): // the standard library
			case imp == module || strings.HasPrefix(imp, module+"/"):
				checkImport(t, name, short(imp), may)
			case !slices.ContainsFunc(edges[name], func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }):
				t.Errorf("%s imports %s, a module of others", name, imp)
			}
		}
	}
}

func checkImport(t *testing.T, name, imp string, may []string) {
	t.Helper()
	if imp == "internal/difftest" || strings.HasPrefix(imp, "internal/synth") && !strings.HasPrefix(name, "internal/synth") {
		t.Errorf("%s imports %s, which is for tests", name, imp)
	}
	if imp == "" && (strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "lab") || name == "bench") {
		return
	}
	if !slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, imp) }) {
		t.Errorf("%s imports %s", name, imp)
	}
}

func short(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func allowed(pkg string) (patterns []string, ok bool) {
	for _, r := range imports {
		if matches(r.pkg, pkg) {
			return strings.Fields(r.may), true
		}
	}
	return nil, false
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// TestModulesAreExplained: every module that is imported directly is one of the
// edges', and DESIGN.md says why it is needed.
func TestModulesAreExplained(t *testing.T) {
	design := read(t, "DESIGN.md")
	block := false
	for line := range strings.Lines(read(t, "go.mod")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, "("):
			block = true
		case line == ")":
			block = false
		case block && !strings.Contains(line, "// indirect"):
			mod := strings.Fields(line)[0]
			if !strings.Contains(design, mod) {
				t.Errorf("DESIGN.md does not say why %s is needed", mod)
			}
		}
	}
}

// source is a Go file of this module.
type source struct {
	path string
	file *ast.File
	fset *token.FileSet
}

func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || p != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".go":
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		all = append(all, source{filepath.ToSlash(p), f, fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFileNames: a name such as decode_arm64.go is a build constraint. The file
// would be left out, without a word, on every machine but an AArch64.
func TestFileNames(t *testing.T) {
	nowhere := build.Context{GOOS: "none", GOARCH: "none", Compiler: "gc",
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p")), nil }}
	for _, s := range sources(t) {
		dir, file := path.Split(s.path)
		if ok, err := nowhere.MatchFile(dir, file); err != nil || !ok {
			t.Errorf("%s: the name is a build constraint (%v)", s.path, err)
		}
	}
}

// TestWiring: the lists in the facade are all the registration there is.
func TestWiring(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			if imp.Name != nil && (imp.Name.Name == "_" || imp.Name.Name == ".") {
				t.Errorf("%s:%d: import %s %s", s.path, s.line(imp.Pos()), imp.Name.Name, imp.Path.Value)
			}
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d: func init", s.path, s.line(f.Pos()))
			}
		}
	}
}

// TestSizes: files are rooms, functions are sentences.
func TestSizes(t *testing.T) {
	var lengths []int
	for _, s := range sources(t) {
		if n := s.line(s.file.FileEnd); n > 501 {
			t.Errorf("%s: %d lines; 500 are the most", s.path, n)
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !s.test() {
				lengths = append(lengths, s.line(f.End())-s.line(f.Pos())+1)
			}
		}
	}
	slices.Sort(lengths)
	median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	t.Logf("%d functions: median %d lines, 90 %% up to %d, longest %d", len(lengths), median, p90, lengths[len(lengths)-1])
	if median > 12 || p90 > 40 {
		t.Errorf("functions are long: median %d (12), 90th percentile %d (40)", median, p90)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}
