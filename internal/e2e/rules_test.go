package e2e_test

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

const (
	module = "github.com/backsight/backsight"
	root   = "../.." // of the repository

	designFile   = root + "/DESIGN.md"
	packagesFile = root + "/docs/packages.md"
)

// rule is a row of docs/packages.md: which packages of this module a
// package may import outside its tests, beside those that the sentence before the table names. The
// order of the rows is the order of layers: what a package imports stands above it.
type rule struct {
	row int
	may []string // patterns, * for one path element; ./... is everything
}

// modules is DESIGN.md's table of other people's modules: who imports each.
func modules(t *testing.T) map[string][]string {
	t.Helper()
	by := map[string][]string{}
	for _, row := range columns(t, designFile, "Other people's modules") {
		for _, mod := range words(row[0]) {
			by[mod] = words(row[1])
		}
	}
	return by
}

// rules reads docs/packages.md. The root package is called backsight.
func rules(t *testing.T) map[string]rule {
	t.Helper()
	list := map[string]rule{}
	_, all, ok := strings.Cut(read(t, packagesFile), "All may import ")
	if all, _, _ = strings.Cut(all, "."); !ok {
		t.Fatal("docs/packages.md does not say what all may import")
	}
	for i, row := range columns(t, packagesFile, "Layers") {
		for _, pkg := range words(row[0]) {
			if _, twice := list[pkg]; twice {
				t.Errorf("docs/packages.md has two rows for %s", pkg)
			}
			list[pkg] = rule{i, append(words(row[2]), words(all)...)}
		}
	}
	return list
}

// columns are the rows of the table of three columns below a heading of a file.
func columns(t *testing.T, file, heading string) (rows [][]string) {
	t.Helper()
	for _, line := range table(read(t, file), "\n## "+heading) {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			t.Fatalf("%s: %d columns, want 3, in %s", file, len(cells), line)
		}
		rows = append(rows, cells)
	}
	return rows
}

// words are the names in a cell, between blanks and commas, without their quotes.
func words(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(" ,`–\n", r) })
}

type goPackage struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
}

// packages lists those of this module with their imports outside of tests.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", module+"/...")
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

// TestImports holds the layers of docs/packages.md.
func TestImports(t *testing.T) {
	rules, modules, seen := rules(t), modules(t), map[string]bool{}
	for _, p := range packages(t) {
		name := short(p.ImportPath)
		seen[name] = true
		rule, ok := rules[name]
		if !ok {
			t.Errorf("docs/packages.md lacks this row, above those that import it:\n| `%s` | … | %s |", name, ours(p.Imports))
		}
		for _, imp := range p.Imports {
			switch {
			case !strings.Contains(strings.SplitN(imp, "/", 2)[0], "."): // the standard library
			case imp == module || strings.HasPrefix(imp, module+"/"):
				checkImport(t, name, short(imp), rule, rules)
			case !imports(modules, name, imp):
				t.Errorf("%s imports %s; DESIGN.md's table of modules does not say so", name, imp)
			}
		}
	}
	for name := range rules {
		if !seen[name] {
			t.Errorf("docs/packages.md has a row for %s, which does not exist", name)
		}
	}
}

// ours are the packages of this module among imports, as docs/packages.md has them.
func ours(imports []string) string {
	var names []string
	for _, imp := range imports {
		if strings.HasPrefix(imp, module) {
			names = append(names, short(imp))
		}
	}
	if len(names) == 0 {
		return "–"
	}
	return strings.Join(names, ", ")
}

// imports tells whether a package may import one of another author's modules.
func imports(modules map[string][]string, name, imp string) bool {
	for mod, by := range modules {
		if (imp == mod || strings.HasPrefix(imp, mod+"/")) && slices.Contains(by, name) {
			return true
		}
	}
	return false
}

func checkImport(t *testing.T, name, imp string, r rule, rules map[string]rule) {
	t.Helper()
	if forTests(imp) && !forTests(name) {
		t.Errorf("%s imports %s, which is for tests", name, imp)
	}
	if !slices.ContainsFunc(r.may, func(pattern string) bool { return pattern == "./..." || matches(pattern, imp) }) {
		t.Errorf("%s imports %s; docs/packages.md does not say that it may", name, imp)
	}
	if below, ok := rules[imp]; ok && below.row >= r.row {
		t.Errorf("%s imports %s, whose row in docs/packages.md is not above its own", name, imp)
	}
}

// forTests tells the packages that only tests import.
func forTests(pkg string) bool {
	return pkg == "internal/synth" || strings.HasPrefix(pkg, "internal/synth/")
}

// short is how docs/packages.md calls a package: by its folder, or backsight.
func short(importPath string) string {
	if importPath == module {
		return "backsight"
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// TestModulesAreExplained: every module that is required directly has a row in
// DESIGN.md, and none has that is not.
func TestModulesAreExplained(t *testing.T) {
	listed, block := modules(t), false
	for line := range strings.Lines(read(t, "../../go.mod")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, "("):
			block = true
		case line == ")":
			block = false
		case block && !strings.Contains(line, "// indirect"):
			mod := strings.Fields(line)[0]
			if _, ok := listed[mod]; !ok {
				t.Errorf("DESIGN.md does not say why %s is needed", mod)
			}
			delete(listed, mod)
		}
	}
	for mod := range listed {
		t.Errorf("DESIGN.md says why %s is needed; go.mod does not require it", mod)
	}
}

// source is a Go file of this module.
type source struct {
	path string // from the repository's root
	file *ast.File
	fset *token.FileSet
}

func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || p != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".go":
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		all = append(all, source{strings.TrimPrefix(filepath.ToSlash(p), root+"/"), f, fset})
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
