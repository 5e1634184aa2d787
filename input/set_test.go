package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/target"
)

// TestSets: files of one set are one capture, wherever they are named; all others, and what cannot be
// read, are captures by themselves.
func TestSets(t *testing.T) {
	dir := t.TempDir()
	named := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a1, a2, b1, alone := named("a1", "A1"), named("a2", "A2"), named("b1", "B1"), named("alone", "-x")
	missing := filepath.Join(dir, "missing")
	var opened string
	format := Format{Name: "parts", Sniff: func([]byte) bool { return true },
		Set: func(file io.ReaderAt) string {
			b := make([]byte, 1)
			if _, err := file.ReadAt(b, 0); err != nil || b[0] == '-' {
				return ""
			}
			return string(b)
		},
		Open: func(_ context.Context, c *Capture, _ *Env) (Stream, error) {
			opened = string(c.Data)
			for _, o := range c.Others {
				opened += " " + string(o.Data)
			}
			return One(&target.Snapshot{}), nil
		}}
	env := &Env{Formats: []Format{{Name: "without sets"}, format}}
	sets := env.Sets([]string{alone, a1, missing, b1, a2, alone, missing, "-"})
	want := [][]string{{alone}, {a1, a2}, {missing}, {b1}, {alone}, {missing}, {"-"}}
	if fmt.Sprint(sets) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", sets, want)
	}
	s, err := env.OpenSet(context.Background(), sets[1])
	if err != nil || opened != "A1 A2" {
		t.Fatalf("opened %q: %v", opened, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := env.OpenSet(context.Background(), []string{a1, missing}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}
