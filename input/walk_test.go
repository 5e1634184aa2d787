package input

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestAskedFirst: what lies where the capture names it, or where its build ID leads, is found without a search through
// the sysroot, its debug file looked for or not. One search serves all that is not found so.
func TestAskedFirst(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "lib/liba.so", elfFile(8, "version1"))
	place(t, dir, fmt.Sprintf(".build-id/%x/%x", "v", "ersion2"), elfFile(8, "version2"))
	place(t, dir, fmt.Sprintf("usr/lib/debug/.build-id/%x/%x", "v", "ersion3"), elfFile(8, "version3"))
	place(t, dir, "deep/er/liba.so", elfFile(8, "version4"))
	place(t, dir, "other", elfFile(8, "version5"))
	var searched atomic.Int64
	find := func(opt FileOptions, name, id string) bool {
		opt.Archs, opt.Formats, opt.Sysroots, opt.Searching = archsT, formatsT, []string{dir}, func() { searched.Add(1) }
		f := NewFiles(opt)
		defer f.Close()
		img, _ := f.Find(BinaryRef{Name: name, BuildID: []byte(id), Arch: archA})
		return img != nil
	}
	for _, c := range []struct{ name, id string }{{"/x", "version2"}, {"/x", "version3"}} {
		if !find(FileOptions{}, c.name, c.id) || searched.Load() != 0 {
			t.Errorf("%s %s: found after a search through %d files", c.name, c.id, searched.Load())
		}
	}
	for _, c := range []struct{ name, id string }{{"/lib/liba.so", "version4"}, {"/x", "version5"}} {
		searched.Store(0)
		if !find(FileOptions{}, c.name, c.id) || searched.Load() == 0 {
			t.Errorf("%s %s: not found, or nothing was searched", c.name, c.id)
		}
		searched.Store(0)
		if find(FileOptions{NoIndex: true}, c.name, c.id) || searched.Load() != 0 {
			t.Errorf("%s %s: found without a search", c.name, c.id)
		}
	}
	if !find(FileOptions{NoIndex: true}, "/lib/liba.so", "version1") {
		t.Error("no file at its own place")
	}
}

// TestBorder: of this machine one file system is searched, without what is never on a disk; of a copy all but what the
// kernel makes up.
func TestBorder(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("no root that has all file systems")
	}
	machine := border{root: "/", device: stateOf("/").device}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run"} {
		if !machine.around(dir, stateOf(dir).device) {
			t.Errorf("%s is searched", dir)
		}
	}
	copied := border{root: t.TempDir()}
	copied.device = stateOf(copied.root).device
	for _, name := range []string{"proc", "run", "usr"} {
		dir := filepath.Join(copied.root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if copied.around(dir, stateOf(dir).device) || copied.root != "/" && stateOf(dir).device == stateOf("/").device && machine.around(dir, stateOf(dir).device) {
			t.Errorf("%s is not searched", dir)
		}
	}
	for _, dir := range []string{"/proc/self", "/sys/kernel"} {
		if st, err := os.Stat(dir); err == nil && st.IsDir() && stateOf(dir).device != 0 && (!copied.around(dir, stateOf(dir).device) || !machine.around(dir, stateOf(dir).device)) {
			t.Errorf("%s is searched", dir)
		}
	}
}

// TestMachine: where this machine's root is a sysroot, no search is made for debug files, and only programs and
// libraries are looked into.
func TestMachine(t *testing.T) {
	p := newPlaces(FileOptions{Sysroots: []string{string(filepath.Separator)}, Formats: formatsT, Searching: func() { t.Error("this machine is searched") }})
	for path := range p.debugFiles([]byte("version1")) {
		t.Error(path)
	}
	if len(p.own.trees) != 1 {
		t.Error("this machine's programs are not searched for")
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"prog": 0o755, "libx.so.1": 0o644, "text": 0o644} {
		if err := os.Chmod(place(t, dir, name, elfFile(8, "id of "+name)), mode); err != nil {
			t.Fatal(err)
		}
	}
	opt := FileOptions{Formats: formatsT}
	own := idIndex{trees: newPlaces(FileOptions{Sysroots: []string{dir}}).trees, opt: &opt, programs: true}
	for name, want := range map[string]int{"prog": 1, "libx.so.1": 1, "text": 0} {
		if got := own.find([]byte("id of " + name)); len(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestKnownIDs: what many files' headers said is kept, and used for files that have not changed.
func TestKnownIDs(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	past := time.Now().Add(-time.Hour)
	for i := range minKnown {
		if err := os.Chtimes(place(t, dir, fmt.Sprint("many/", i), []byte("no binary")), past, past); err != nil {
			t.Fatal(err)
		}
	}
	first := place(t, dir, "first", elfFile(8, "version1"))
	changed := place(t, dir, "changed", elfFile(8, "version2"))
	for _, path := range []string{first, changed} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	find := func(id string) []string {
		return newPlaces(FileOptions{Sysroots: []string{dir}, Formats: formatsT, CacheDir: cache}).ids.find([]byte(id))
	}
	if got := find("version1"); !slices.Equal(got, []string{first}) {
		t.Fatal(got)
	}
	known := openKnown(&FileOptions{Context: t.Context(), CacheDir: cache}, dir)
	if len(known.old) != minKnown+2 {
		t.Fatalf("%d files are known", len(known.old))
	}
	// A file that is not looked into again still has the ID that it had; one that changed has its new one.
	if err := os.WriteFile(first, elfFile(8, "version9"), 0o600); err != nil || os.Chtimes(first, past, past) != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, elfFile(8, "version3"), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{"version1": {first}, "version2": nil, "version3": {changed}} {
		if got := find(id); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	// A damaged cache is none, or a part.
	for _, text := range []string{"", "text", knownMagic + "12345678", knownMagic + "12345678\xff"} {
		if err := os.WriteFile(known.file.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := find("version9"); !slices.Equal(got, []string{first}) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
