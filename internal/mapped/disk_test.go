package mapped_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/backsight/backsight/internal/mapped"
)

// TestDisk: a path of this machine names the file of a program's own file system, from its root, whatever stands before it.
func TestDisk(t *testing.T) {
	disk := mapped.Disk{FS: fstest.MapFS{"usr/lib/a.so": {Data: []byte("bytes")}}}
	for _, path := range []string{"usr/lib/a.so", "/usr/lib/a.so", "./usr/lib/../lib/a.so", "../usr/lib/a.so", filepath.FromSlash("/usr/lib/a.so")} {
		data, release, err := disk.Load(path)
		if err != nil || string(data) != "bytes" || !disk.Regular(path) {
			t.Fatalf("%s: %q, %v", path, data, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	if entries, err := disk.ReadDir("/usr"); err != nil || len(entries) != 1 || entries[0].Name() != "lib" {
		t.Errorf("%v, %v", entries, err)
	}
	if _, _, err := disk.Load("usr/lib"); !errors.Is(err, mapped.ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := disk.Open("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// plain hides that its files are io.ReaderAt.
type plain struct{ fs.FS }

func (p plain) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// TestDiskReadsWhole: parts can be read of files that are none of io.ReaderAt, too.
func TestDiskReadsWhole(t *testing.T) {
	f, err := mapped.Disk{FS: plain{fstest.MapFS{"a": {Data: []byte("some bytes")}}}}.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 5)
	if n, err := f.ReadAt(b, 5); err != nil || string(b[:n]) != "bytes" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

// TestWhole: what was read and not mapped says so by its release, for to forget its pages would lose them.
func TestWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, disk := range []mapped.Disk{{}, {FS: fstest.MapFS{"a": {Data: []byte("bytes")}}}} {
		name := path
		if disk.FS != nil {
			name = "a"
		}
		f, err := disk.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		data, release, err := mapped.Whole(f)
		if err != nil || string(data) != "bytes" || (release == nil) != (disk.FS != nil) {
			t.Errorf("%q, %v, %t", data, err, release == nil)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
