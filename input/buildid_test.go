package input

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFindByBuildID: a binary is found under any name below any of the directories, and
// beside what only its name says; a link called by its build ID is followed.
func TestFindByBuildID(t *testing.T) {
	one, two, debug := t.TempDir(), t.TempDir(), t.TempDir()
	place(t, one, "lib/liba.so", elfFile(8, "version1"))
	place(t, two, "deep/er/whatever", elfFile(8, "version2"))
	place(t, debug, "store/build-3.out", elfFile(8, "version3"))
	place(t, debug, "text", []byte("no binary"))
	fourth := place(t, debug, "x/pool/4", elfFile(8, "version4"))
	link(t, debug, fmt.Sprintf("mirror/.build-id/%x/%x", "v", "ersion4"), fourth)
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Sysroots: []string{one, two}, Indexed: []string{debug}})
	defer f.Close()
	for id, want := range map[string]string{
		"version1": filepath.Join(one, "lib/liba.so"), "version2": filepath.Join(two, "deep/er/whatever"),
		"version3": filepath.Join(debug, "store/build-3.out"), "version4": filepath.Join(debug, "mirror/.build-id", hex.EncodeToString([]byte("v")), hex.EncodeToString([]byte("ersion4"))),
		"version5": "",
	} {
		img, _ := f.Find(BinaryRef{Name: "/usr/lib/liba.so", BuildID: []byte(id), Arch: archA})
		if got := img; (got == nil) != (want == "") || got != nil && got.Path != want {
			t.Errorf("%s: %v, want %q", id, got, want)
		}
	}
}

// TestFindByBegin: of files of one name, the first bytes of a build tell which one ran; where no file is of that build, each is said to
// be of another one.
func TestFindByBegin(t *testing.T) {
	root := t.TempDir()
	place(t, root, "lib32/liba.so", elfFile(8, "3232"))
	want := place(t, root, "lib64/liba.so", elfFile(8, "6464"))
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Sysroots: []string{root}})
	defer f.Close()
	if img, issues := f.Find(BinaryRef{Name: "liba.so", Begin: []byte("64"), Absolute: true}); img == nil || img.Path != want || len(issues) > 0 {
		t.Errorf("%v, %v", img, issues)
	}
	if img, issues := f.Find(BinaryRef{Name: "liba.so", Begin: []byte("8"), Absolute: true}); img != nil || len(issues) != 2 {
		t.Errorf("%v, %v", img, issues)
	}
}

// TestFetch: what is nowhere here is fetched, once all other ways have failed, and held to the
// same conditions.
func TestFetch(t *testing.T) {
	dir := t.TempDir()
	here := place(t, dir, "root/bin/here", elfFile(8, "here"))
	far := place(t, dir, "cache/far", elfFile(8, "far away"))
	var asked []string
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Sysroots: []string{filepath.Join(dir, "root")},
		Fetch: func(kind FetchKind, id []byte) (string, bool) {
			asked = append(asked, string(kind)+" "+string(id))
			return far, string(id) != "nowhere"
		}})
	defer f.Close()
	for id, want := range map[string]string{"here": here, "far away": far, "wrong one": "", "nowhere": ""} {
		img, _ := f.Find(BinaryRef{Name: "/bin/x", BuildID: []byte(id)})
		if got := img; (got == nil) != (want == "") || got != nil && got.Path != want {
			t.Errorf("%s: %v, want %q", id, got, want)
		}
	}
	slices.Sort(asked)
	if got := fmt.Sprint(asked); got != "[executable far away executable nowhere executable wrong one]" {
		t.Error(got)
	}
}

// BenchmarkBuildIDs indexes a folder of 10,000 binaries.
func BenchmarkBuildIDs(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		sub := filepath.Join(dir, fmt.Sprint(i%100))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(sub, fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.Write(elfFile(8, fmt.Sprintf("%08d", i)))
		if err != nil || f.Truncate(64<<10) != nil || f.Close() != nil {
			b.Fatal(err, io.ErrShortWrite)
		}
	}
	b.ResetTimer()
	for range b.N {
		p := newPlaces(FileOptions{Sysroots: []string{dir}, Formats: formatsT})
		if len(p.ids.find([]byte("00004711"))) != 1 || len(p.ids.files) != 10_000 {
			b.Fatal(len(p.ids.files))
		}
	}
}
