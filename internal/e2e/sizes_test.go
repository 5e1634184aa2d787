package e2e_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"testing"
)

// What is larger than others for one reason each, that stands beside it. Entries that
// are no longer needed fail the test: the lists only get shorter.
var (
	// largeFiles are longer than 400 lines.
	largeFiles = map[string]string{}
	// longFunctions are longer than 80 lines: switches over encodings that do nothing
	// but name what each field selects.
	longFunctions = map[string]string{
		"internal/cpu/riscv.decoder.instruction": "RISC-V, by opcode and quadrant: a second switch takes a seventh more time",
	}
	// largeTypes have more than 15 fields.
	largeTypes = map[string]string{
		"cpu.Insn": "what an instruction does, as one value of 64 bytes",
	}
)

// TestSizes: files are rooms, functions are sentences.
func TestSizes(t *testing.T) {
	files, functions := map[string]int{}, map[string]int{}
	var lengths []int
	for _, s := range sources(t) {
		if n := s.line(s.file.FileEnd); s.test() && n > 501 {
			t.Errorf("%s: %d lines; 500 are the most for tests", s.path, n)
		} else if !s.test() && n > 401 {
			files[s.path] = n
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test() {
				continue
			}
			n := s.line(f.End()) - s.line(f.Pos()) + 1
			if lengths = append(lengths, n); n > 80 {
				functions[path.Dir(s.path)+"."+qualified(f)] = n
			}
		}
	}
	holdList(t, "file of more than 400 lines", files, largeFiles)
	holdList(t, "function of more than 80 lines", functions, longFunctions)
	slices.Sort(lengths)
	median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	t.Logf("%d functions: median %d lines, 90 %% up to %d, longest %d", len(lengths), median, p90, lengths[len(lengths)-1])
	if median > 12 || p90 > 24 {
		t.Errorf("functions are long: median %d (12), 90th percentile %d (24)", median, p90)
	}
}

// TestTypeSizes: objects are small, so that a line of a method shows what it may touch.
func TestTypeSizes(t *testing.T) {
	large := map[string]int{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			for name, fields := range structs(d) {
				if fields > 15 {
					large[path.Dir(s.path)+"."+name] = fields
				}
			}
		}
	}
	holdList(t, "type of more than 15 fields", large, largeTypes)
}

// structs are how many fields the struct types of a declaration have.
func structs(d ast.Decl) map[string]int {
	fields := map[string]int{}
	if g, ok := d.(*ast.GenDecl); ok {
		for _, spec := range g.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok {
				if st, ok := ts.Type.(*ast.StructType); ok {
					fields[ts.Name.Name] = st.Fields.NumFields()
				}
			}
		}
	}
	return fields
}

// holdList fails on what is large and not listed, and on what is listed and not large.
func holdList(t *testing.T, what string, large map[string]int, listed map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(large)) {
		if listed[name] == "" {
			t.Errorf("%s: %s (%d)", name, what, large[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := large[name]; !ok {
			t.Errorf("%s is no %s any more: its entry goes", name, what)
		}
	}
}

// qualified is a function's name, with its receiver's type.
func qualified(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return receiver(f) + "." + f.Name.Name
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	x := f.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr: // of a generic type
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return "?"
		}
	}
}
