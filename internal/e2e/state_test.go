package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"testing"
)

// TestNoPackageState: what a package declares outside its functions is a table or a
// constant. No function assigns to it or to a part of it, or takes away from it, and it
// is no lock: two users of the library in one process do not meet. (Decoders point at
// rows of their tables; that those only read is not seen here. A memo.Once is a constant, made for the first who asks.)
// One lock alone is named: another project's package has the
// state that it guards.
func TestNoPackageState(t *testing.T) {
	fset := token.NewFileSet()
	folders := map[string][]*ast.File{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		f, err := parser.ParseFile(fset, path.Join(root, s.path), nil, 0) // resolves names within the file
		if err != nil {
			t.Fatal(err)
		}
		folders[path.Dir(s.path)] = append(folders[path.Dir(s.path)], f)
	}
	for _, files := range folders {
		vars := packageVars(files)
		for _, f := range files {
			for _, d := range f.Decls {
				ast.Inspect(d, func(n ast.Node) bool {
					for _, x := range changed(n) {
						if v := vars.of(x); v != "" {
							t.Errorf("%s: the package variable %s is changed", fset.Position(n.Pos()), v)
						}
					}
					return true
				})
			}
		}
		for name, spec := range vars {
			if locks(spec) && name != "decoding" {
				t.Errorf("%s: the package variable %s is state", fset.Position(spec.Pos()), name)
			}
		}
	}
}

// variables are a package's, by name.
type variables map[string]*ast.ValueSpec

func packageVars(files []*ast.File) variables {
	vars := variables{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					vars[name.Name] = s.(*ast.ValueSpec)
				}
			}
		}
	}
	delete(vars, "_")
	return vars
}

// of is the package variable that x is, or is a part of; "" for none. A name that the
// file resolves to anything else is a local one.
func (v variables) of(x ast.Expr) string {
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.SliceExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.SelectorExpr:
			x = e.X
		case *ast.Ident:
			spec, ok := v[e.Name]
			if ok && (e.Obj == nil || e.Obj.Decl == spec) {
				return e.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// changed are the expressions that a node changes.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") {
			return n.Args[:1]
		}
	}
	return nil
}

// locks tells whether a variable is of a type of sync or sync/atomic.
func locks(spec *ast.ValueSpec) (found bool) {
	nodes := []ast.Node{}
	if spec.Type != nil {
		nodes = append(nodes, spec.Type)
	}
	for _, v := range spec.Values {
		nodes = append(nodes, v)
	}
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
					found = true
				}
			}
			return !found
		})
	}
	return found
}
