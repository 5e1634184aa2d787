// Package listed lists the rules of programs of testdata, for tests of tables' forms.
package listed

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/tables"
)

// Rules are those of a program of testdata, by its call frame information alone.
func Rules(t testing.TB, name string) *tables.Program {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { _ = files.Close() })
	img, err := files.Open(recorded.Testdata(t, name))
	if err != nil {
		t.Fatal(err)
	}
	p, err := backsight.ListRules(t.Context(), img, "cfi")
	if err != nil {
		t.Fatal(err)
	}
	return p
}
