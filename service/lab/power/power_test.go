package power_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/service/lab/power"
)

// mounted is a disk at a folder.
func mounted(t *testing.T, d *power.Disk) (dir string, unmount func()) {
	t.Helper()
	dir = t.TempDir()
	end, err := d.Mount(dir)
	if err != nil {
		t.Skip(err)
	}
	done := false
	unmount = func() {
		if !done {
			done = true
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(unmount)
	return dir, unmount
}

func write(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if sync {
		syncFile(t, f)
	}
}

func syncFile(t *testing.T, f *os.File) {
	t.Helper()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func syncDir(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syncFile(t, f)
}

// TestCut: after a cut without luck there is what was synchronised, file and folder each; with all luck there is everything.
func TestCut(t *testing.T) {
	for luck, want := range map[float64]map[string]string{
		0: {"kept": "one", "dir/in": "", "nameless": "-", "unsynced": "", "gone": "x", "new": "-", "old": "old"},
		1: {"kept": "one two", "dir/in": "in", "nameless": "n", "unsynced": "u", "gone": "-", "new": "old", "old": "-"},
	} {
		d := power.New()
		dir, unmount := mounted(t, d)
		at := func(name string) string { return filepath.Join(dir, name) }
		if err := os.Mkdir(at("dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, at("kept"), "one", true)
		write(t, at("dir/in"), "in", false)
		write(t, at("unsynced"), "u", false)
		write(t, at("gone"), "x", true)
		write(t, at("old"), "old", true)
		syncDir(t, dir)
		syncDir(t, at("dir"))
		write(t, at("kept"), " two", false)
		write(t, at("nameless"), "n", true)
		if err := os.Remove(at("gone")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at("old"), at("new")); err != nil {
			t.Fatal(err)
		}
		next := d.Cut(rand.New(rand.NewPCG(1, 2)), luck)
		if _, err := os.ReadFile(at("none")); err == nil || os.IsNotExist(err) {
			t.Errorf("without power a file is not there: %v", err)
		}
		unmount()
		dir, _ = mounted(t, next)
		for name, text := range want {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				got = []byte("-")
			}
			if string(got) != text {
				t.Errorf("luck %v: %s is %q, want %q", luck, name, got, text)
			}
		}
	}
}

// TestTorn: with some luck, some sectors of what was not synchronised are there and others are zeros or missing.
func TestTorn(t *testing.T) {
	d := power.New()
	dir, unmount := mounted(t, d)
	path := filepath.Join(dir, "file")
	write(t, path, string(bytes.Repeat([]byte("x"), 5000)), true)
	syncDir(t, dir)
	write(t, path, string(bytes.Repeat([]byte("y"), 100_000)), false)
	next := d.Cut(rand.New(rand.NewPCG(1, 2)), 0.5)
	unmount()
	dir, _ = mounted(t, next)
	b, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || !bytes.Equal(b[:5000], bytes.Repeat([]byte("x"), 5000)) {
		t.Fatalf("what was synchronised is another: %v", err)
	}
	if y, zero := bytes.Count(b, []byte("y")), bytes.Count(b, []byte{0}); y < 30_000 || zero < 30_000 {
		t.Errorf("%d bytes were written and %d are zeros, want about half each", y, zero)
	}
}
