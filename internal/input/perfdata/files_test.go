package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/target"
)

// TestKept: perf keeps the binaries of what it recorded by their build IDs; they are read where the file is gone, or is another by now.
func TestKept(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id := bytes.Repeat([]byte{0xcd}, sha1)
	dir := filepath.Join(home, ".debug", ".build-id", "cd", strings.Repeat("cd", sha1-1))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "elf")); err != nil {
		t.Fatal(err)
	}
	s := newStream(&recording{}, environment(), nil)
	if got := s.kept(id, "elf"); got != filepath.Join(dir, "elf") {
		t.Errorf("the binary: %q", got)
	}
	if got := s.kept(id, "vdso") + s.kept(nil, "elf"); got != "" {
		t.Errorf("what is not kept: %q", got)
	}
}

// TestDeleted: what lies at the path of a file that was deleted is another file. Only a build ID tells that it is the same.
func TestDeleted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "netd")
	if err := os.WriteFile(name, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := newFile(binary.LittleEndian)
	f.mmap(1, 7, 0x1000, 0x1000, 0, protExec, name+" (deleted)")
	f.sample(2, 7, 7, nil, 0x7000, 0x1100, make([]byte, 16))
	s, err := open(t.Context(), input.NewCapture("perf.data", f.bytes()), environment())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, err := s.Next(t.Context())
	if err != nil || len(snap.Issues) != 1 || !strings.Contains(snap.Issues[0].Text, "another file") {
		t.Errorf("%v, %+v", err, snap)
	}
}

// TestJitted: perf inject --jit writes a file of each function that a run-time made, whose header has an entry point. No program begins there,
// so that chains lead on.
func TestJitted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the program of this test is none of Linux' for x86-64")
	}
	opt := input.FileOptions{Archs: x86.Archs(), Formats: []image.Format{elf.Format()}}
	s := newStream(&recording{arch: x86.Archs()[0]}, &input.Env{Archs: opt.Archs, Files: input.NewFiles(opt)}, nil)
	for name, begins := range map[string]bool{"program": true, "jitted-4321-7.so": false} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(self, file); err != nil {
			t.Fatal(err)
		}
		if img := s.file(&process{}, file, nil); img == nil || (img.Entry != 0) != begins {
			t.Errorf("%s: %+v", name, img)
		}
	}
}

// TestRuns: a process runs the file whose name is its own, as far as the kernel keeps it, be that there or deleted.
func TestRuns(t *testing.T) {
	p := process{pid: 7, names: map[uint32]string{7: "a-long-name-of-"}}
	for file, runs := range map[string]bool{"/bin/a-long-name-of-15": true, "/bin/a-long-name-of-15 (deleted)": true, "/lib/libc.so.6": false} {
		if p.runs(file) != runs {
			t.Errorf("%s: %v", file, !runs)
		}
	}
}

// TestRemapped: code that is mapped over other code takes its place.
func TestRemapped(t *testing.T) {
	p, s := &process{}, newStream(nil, environment(), nil)
	s.add(p, mapping{Range: target.Range{Lo: 0x1000, Hi: 0x5000}, name: "/a", exec: true})
	s.add(p, mapping{Range: target.Range{Lo: 0x2000, Hi: 0x3000}, off: 0x100, name: "/b", exec: true})
	s.add(p, mapping{Range: target.Range{Lo: 0x4000, Hi: 0x6000}, name: "//anon"})
	var got strings.Builder
	for _, m := range p.maps {
		fmt.Fprintf(&got, "%s %#x-%#x+%#x\n", m.name, m.Lo, m.Hi, m.off)
	}
	if want := "/a 0x1000-0x2000+0x0\n/b 0x2000-0x3000+0x100\n/a 0x3000-0x4000+0x2000\n"; got.String() != want {
		t.Errorf("%swant\n%s", got.String(), want)
	}
}
