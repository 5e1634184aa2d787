package elfcore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// TestOpenedAhead: of many binaries, which two processors open, the same is said in the same order as of each alone: a library, one
// of another build, a text.
func TestOpenedAhead(t *testing.T) {
	lib := filepath.Join(recorded.Testdata(t, "x86_64-threads/modules"), "usr/lib/libtree.so")
	good, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	var names, want []string
	for i := range 40 {
		name := fmt.Sprintf("/lib%d.so", i)
		if err := os.WriteFile(root+name, [][]byte{good, otherID(t, lib), []byte("a text\n")}[i%3], 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		want = append(want, found(t, root, good, i, name)...)
	}
	got := found(t, root, good, 0, names...)
	if slices.Sort(got); len(got) < 40 {
		t.Errorf("%q", got)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// found is what a core tells of files with these names, the first of them mapped at the n-th place: modules and issues.
func found(t *testing.T, root string, data []byte, n int, names ...string) (told []string) {
	t.Helper()
	a := archNamed(t, "x86_64", "", false)
	s := newCore(a).thread(1, 6, 0)
	desc, paths := s.words(nil, uint64(len(names)), 0x1000), ""
	for i, name := range names {
		at := 0x7000_0000 + uint64(n+i)<<20
		desc = s.words(desc, at, at+uint64(len(data)), 0)
		paths += name + "\x00"
		s.load(at, uint64(len(data)), data[:0x1000], 5)
	}
	snap, err := read(t, s.note(0x4649_4c45, append(desc, paths...)).bytes(), input.FileOptions{Sysroots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range snap.Modules {
		told = append(told, fmt.Sprintf("%s %#x %t", m.Name, m.Lo, m.Image != nil && m.Image.Path == root+m.Name))
	}
	for _, i := range issues(snap) {
		told = append(told, i.Text)
	}
	return told
}

// TestNoDebugFiles: of binaries that are mapped, the debug files are not looked for before a frame needs one: they may be far away.
func TestNoDebugFiles(t *testing.T) {
	root := recorded.Testdata(t, "x86_64-threads/modules")
	const lib = "/lib64/ld-linux-x86-64.so.2" // stripped
	good, err := os.ReadFile(root + lib)
	if err != nil {
		t.Fatal(err)
	}
	s := newCore(archNamed(t, "x86_64", "", false)).thread(1, 6, 0)
	s.load(0x7000_0000, uint64(len(good)), good[:0x1000], 5)
	desc := append(s.words(nil, 1, 0x1000, 0x7000_0000, 0x7000_0000+uint64(len(good)), 0), lib+"\x00"...)
	snap, err := read(t, s.note(0x4649_4c45, desc).bytes(), input.FileOptions{Sysroots: []string{root}, NoIndex: true,
		Fetch: func(kind input.FetchKind, id []byte) (string, bool) {
			t.Errorf("%s of %x is fetched", kind, id)
			return "", false
		}})
	if err != nil || len(snap.Modules) != 1 || snap.Modules[0].Image == nil {
		t.Fatalf("%v, %v", snap, err)
	}
}
