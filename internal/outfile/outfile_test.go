package outfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/internal/outfile"
)

// text is what fills a file.
func text(s string) func(*os.File) error {
	return func(f *os.File) error { _, err := f.WriteString(s); return err }
}

// holds fails the test unless the directory has one file alone, with a content.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", path, got, err, want)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("beside %s lies more: %v", path, all)
	}
}

// TestReplace: a new file has the mode that was asked for, an old one keeps its own.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	for _, c := range []struct {
		text        string
		asked, mode fs.FileMode
	}{{"new", 0o640, 0o640}, {"again", 0o666, 0o600}} {
		if err := outfile.Write(t.Context(), path, c.asked, text(c.text)); err != nil {
			t.Fatal(err)
		}
		holds(t, path, c.text)
		if st, err := os.Stat(path); err != nil || st.Mode() != c.mode && os.PathSeparator == '/' {
			t.Errorf("mode %v, want %v; %v", st.Mode(), c.mode, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailure: what cannot be completed leaves the old file, or none.
func TestFailure(t *testing.T) {
	full := errors.New("no space left")
	half := func(f *os.File) error { return errors.Join(text("ha")(f), full) }
	path := filepath.Join(t.TempDir(), "table")
	if err := outfile.Write(t.Context(), path, 0o666, half); !errors.Is(err, full) {
		t.Error(err)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) > 0 {
		t.Errorf("a half file: %v", all)
	}
	if err := outfile.Write(t.Context(), path, 0o666, text("old")); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, err := range map[string]error{
		"fill": outfile.Write(t.Context(), path, 0o666, half),
		"ctx":  outfile.Write(ended, path, 0o666, text("new")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		holds(t, path, "old")
	}
}

// TestErrorNames: errors name the path of the user, not that of a temporary file.
func TestErrorNames(t *testing.T) {
	dir := t.TempDir()
	closed := func(f *os.File) error { _ = f.Close(); return text("x")(f) }
	for path, fill := range map[string]func(*os.File) error{
		filepath.Join(dir, "no", "table"): text("x"), dir: text("x"), filepath.Join(dir, "closed"): closed,
	} {
		var p *fs.PathError
		if err := outfile.Write(t.Context(), path, 0o666, fill); !errors.As(err, &p) || p.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestTidy: the end of the process leaves no temporary file, and what is written on takes no place.
func TestTidy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	ctx, end := outfile.Tidy(t.Context())
	if err := outfile.Write(ctx, path, 0o666, text("old")); err != nil {
		t.Fatal(err)
	}
	err := outfile.Write(ctx, path, 0o666, func(f *os.File) error {
		end()
		holds(t, path, "old")
		return text("new")(f)
	})
	if err == nil || outfile.Write(ctx, path, 0o666, text("new")) == nil {
		t.Error("written after the end")
	}
	holds(t, path, "old")
}
