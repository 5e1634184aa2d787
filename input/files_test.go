package input

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/image/flat"
	"github.com/backsight/backsight/target"
)

// The processors of these tests.
var (
	archA  = &cpu.Arch{Name: "a", AddrSize: 4, RegSize: 4, CodeAddresses: cpu.CodeAddresses{InsnAlign: 4}, ELF: cpu.ELFMatch{Machine: 8, Class: 1}}
	archB  = &cpu.Arch{Name: "b", AddrSize: 4, RegSize: 4, CodeAddresses: cpu.CodeAddresses{InsnAlign: 4}, ELF: cpu.ELFMatch{Machine: 40, Class: 1}}
	archsT = cpu.Set{archA, archB}

	formatsT = []image.Format{elf.Format(), flat.Format()}
)

// binary builds an executable for a machine with a build ID ("": none).
func elfFile(machine uint16, buildID string) []byte {
	var b bytes.Buffer
	le := binary.LittleEndian
	notes := []byte{}
	if buildID != "" {
		notes = le.AppendUint32(notes, 4)
		notes = le.AppendUint32(notes, uint32(len(buildID)))
		notes = le.AppendUint32(notes, 3)
		notes = append(append(notes, "GNU\x00"...), buildID...)
	}
	h := stdelf.Header32{Type: 2, Machine: machine, Version: 1, Entry: 0x1000, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 2}
	copy(h.Ident[:], "\x7fELF\x01\x01\x01")
	at := uint32(52 + 2*32)
	_ = binary.Write(&b, le, h)
	_ = binary.Write(&b, le, stdelf.Prog32{Type: 1, Vaddr: 0x1000, Filesz: at, Memsz: at, Flags: 5})
	_ = binary.Write(&b, le, stdelf.Prog32{Type: 4, Off: at, Filesz: uint32(len(notes)), Memsz: uint32(len(notes))})
	b.Write(notes)
	return b.Bytes()
}

// place writes a file below dir and returns its path.
func place(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, dir, name, target string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no symbolic links here")
	}
}

// TestFindBelowSysroot: the path first, then the name; the build ID decides.
func TestFindBelowSysroot(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "lib/libx.so", elfFile(8, "old!"))
	place(t, dir, "build/out/libx.so", elfFile(8, "new!"))
	place(t, dir, "lib/liby.so.1.2", elfFile(8, ""))
	place(t, dir, "other/libz.so", elfFile(40, ""))
	place(t, dir, "mine/libz.so", elfFile(8, ""))
	place(t, dir, "etc/text", []byte("no binary at all"))
	link(t, dir, "usr/lib/liby.so.1", "/lib/liby.so.1.2") // absolute: starts at the sysroot
	link(t, dir, "usr/lib/loop", "loop")
	link(t, dir, "usr/lib/out", "../../../../../../../../lib/libx.so")

	for _, tt := range []struct {
		name, id string
		want     string // below dir, "" for none
		issues   int
	}{
		{"/lib/libx.so", "", "lib/libx.so", 0},
		{"/lib/libx.so", "old!", "lib/libx.so", 0},
		{"/lib/libx.so", "new!", "build/out/libx.so", 0},
		{"/lib/libx.so (deleted)", "new!", "build/out/libx.so", 0},
		{"/lib/libx.so", "gone", "", 2},
		{"/opt/libx.so", "new!", "build/out/libx.so", 0},
		{"/usr/lib/liby.so.1", "", "lib/liby.so.1.2", 0},
		{"/x/liby.so.1", "", "lib/liby.so.1.2", 0},
		{"/lib/liby.so.1.2", "some", "", 1}, // no build ID cannot be the one
		{"/lib/libz.so", "", "mine/libz.so", 0},
		{"/usr/lib/loop", "", "", 0},
		{"/usr/lib/out", "", "lib/libx.so", 0},
		{"../../lib/libx.so", "", "lib/libx.so", 0},
		{"/etc/text", "", "", 1},
		{"/absent", "", "", 0},
		{"", "", "", 0},
	} {
		f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Sysroots: []string{dir}})
		w := BinaryRef{Name: tt.name, Arch: archA}
		if tt.id != "" {
			w.BuildID = []byte(tt.id)
		}
		img, issues := f.Find(w)
		got := ""
		if img != nil {
			got, _ = filepath.Rel(dir, img.Path)
			issues = nil
		}
		if filepath.ToSlash(got) != tt.want || len(issues) != tt.issues {
			t.Errorf("%q build ID %q: %q, issues %q; want %q, %d issues", tt.name, tt.id, got, issues, tt.want, tt.issues)
		}
		f.Close()
	}
}

// TestFindOnThisMachine: without a sysroot an absolute path is tried as it is, a
// relative one beside the capture, and what the user named by its base name.
func TestFindOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	abs := place(t, dir, "prog", elfFile(8, "1234"))
	named := place(t, dir, "elsewhere/tool", elfFile(8, ""))
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Images: []NamedImage{{Path: named}}})
	defer f.Close()
	for _, tt := range []struct{ name, dir, want string }{
		{abs, "", abs}, {"prog", dir, abs}, {"/usr/bin/tool", "", named}, {"prog", "", ""},
	} {
		img, issues := f.Find(BinaryRef{Name: tt.name, Dir: tt.dir})
		if got := img; (got == nil) != (tt.want == "") || got != nil && got.Path != tt.want {
			t.Errorf("%s in %q: %v, %q; want %q", tt.name, tt.dir, got, issues, tt.want)
		}
	}
	if _, issues := f.Find(BinaryRef{Name: abs, Arch: archB}); len(issues) != 1 || !strings.Contains(issues[0].Text, "a binary for a little-endian") ||
		issues[0].Kind != target.IssueNotUsed || issues[0].Subject != abs {
		t.Errorf("another processor: %q", issues)
	}
}

// TestAbsolute: a relative path from a system that writes none leads into no directory of ours.
func TestAbsolute(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "prog", elfFile(8, "1234"))
	t.Chdir(dir)
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT})
	defer f.Close()
	for absolute, found := range map[bool]bool{false: true, true: false} {
		for _, name := range []string{"prog", "./prog", filepath.Join("..", filepath.Base(dir), "prog")} {
			if img, _ := f.Find(BinaryRef{Name: name, Absolute: absolute}); (img != nil) != found {
				t.Errorf("%s, absolute %v: found %v", name, absolute, img != nil)
			}
		}
	}
}

// TestOpenIsShared: concurrent captures share one image; Close closes it.
func TestOpenIsShared(t *testing.T) {
	path := place(t, t.TempDir(), "x", elfFile(8, ""))
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a, err1 := f.Open(path)
			b, err2 := f.Open(path)
			if a == nil || a != b || err1 != nil || err2 != nil {
				t.Errorf("%p %v, %p %v", a, err1, b, err2)
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestRawImage: a binary without headers needs a processor; ELF files stay ELF.
func TestRawImage(t *testing.T) {
	dir := t.TempDir()
	raw, exe := place(t, dir, "flash.bin", []byte("\x00\x01\x02\x03")), place(t, dir, "x.elf", elfFile(8, ""))
	if _, err := NewFiles(FileOptions{Archs: archsT, Formats: formatsT}).Open(raw); err == nil {
		t.Error("opened without a processor")
	}
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Raw: archB})
	defer f.Close()
	if img, err := f.Open(raw); err != nil || img.Arch != archB || len(img.Segments.Bytes(1)) != 3 {
		t.Errorf("raw: %v", err)
	}
	if img, err := f.Open(exe); err != nil || img.Arch != archA {
		t.Errorf("ELF: %v", err)
	}
	broken := place(t, dir, "broken.elf", []byte("\x7fELF garbage"))
	if _, err := f.Open(broken); err == nil {
		t.Error("a damaged ELF file was taken as raw")
	}
}

func TestParseNamedImage(t *testing.T) {
	for s, want := range map[string]NamedImage{
		"fw.elf":                {Path: "fw.elf"},
		"fw.elf@0x8000":         {Path: "fw.elf", Bias: 0x8000, Placed: true},
		"a@b/fw.bin@4096":       {Path: "a@b/fw.bin", Bias: 4096, Placed: true},
		"user@host.elf":         {Path: "user@host.elf"},
		"@0x10":                 {Path: "@0x10"},
		"x@0x1_0000":            {Path: "x", Bias: 0x10000, Placed: true},
		"x@0xfffffffffffffffff": {Path: "x@0xfffffffffffffffff"},
	} {
		if got := ParseNamedImage(s); got != want {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
}

// TestDebugFilesBelowSysroot: the debug files of another machine's binaries are those of
// that machine: absolute links begin at the sysroot, and none leads out of it, neither
// from a build ID's name nor from beside the binary.
func TestDebugFilesBelowSysroot(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	place(t, outside, "other", elfFile(8, "wanted"))
	place(t, dir, "lib/libx.so", elfFile(8, "wanted"))
	store := fmt.Sprintf("usr/lib/debug/.build-id/%x", "w")
	name := fmt.Sprintf("%s/%x", store, "anted")
	f := func() *Files { return NewFiles(FileOptions{Archs: archsT, Formats: formatsT, Sysroots: []string{dir}}) }
	found := func() string {
		files := f()
		defer files.Close()
		img, _ := files.Find(BinaryRef{Name: "/absent", BuildID: []byte("wanted"), Arch: archA})
		if img == nil {
			return ""
		}
		rel, _ := filepath.Rel(dir, img.Path)
		return filepath.ToSlash(rel)
	}
	link(t, dir, name, "/lib/libx.so")
	if got := found(); got != "lib/libx.so" {
		t.Errorf("an absolute link leads to %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "lib/libx.so")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{filepath.Join(outside, "other"), "../../../../../../../../../../" + filepath.Join(outside, "other")} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		link(t, dir, name, target)
		if got := found(); got != "" {
			t.Errorf("%s leads to %q", target, got)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "usr")); err != nil {
		t.Fatal(err)
	}
	place(t, outside, filepath.Base(store)+"/"+filepath.Base(name), elfFile(8, "wanted"))
	link(t, dir, "usr/lib/debug/.build-id", outside)
	if got := found(); got != "" {
		t.Errorf("a directory out of the sysroot leads to %q", got)
	}
}

// TestFilesAfterClose: what is closed opens nothing any more.
func TestFilesAfterClose(t *testing.T) {
	path := place(t, t.TempDir(), "exe", elfFile(8, "abc"))
	f := NewFiles(FileOptions{Archs: archsT, Formats: formatsT})
	if _, err := f.Open(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if img, err := f.Open(path); !errors.Is(err, os.ErrClosed) || img != nil {
			t.Errorf("open after close: %v, %v", img, err)
		}
		if img, issues := f.Find(BinaryRef{Name: path}); img != nil || len(issues) > 1 {
			t.Errorf("found after close: %v, %v", img, issues)
		}
	}
}

// TestCapitals: Windows tells names with other capitals not apart; a file of just that name comes first.
func TestCapitals(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a/KERNEL32.DLL", elfFile(8, ""))
	place(t, dir, "b/kernel32.dll", elfFile(8, ""))
	tree := tree{root: dir, goOn: func() bool { return true }}
	for name, want := range map[string]string{"x/KERNEL32.DLL": "[a/KERNEL32.DLL]", "Kernel32.dll": "[b/kernel32.dll a/KERNEL32.DLL]", "user32.dll": "[]"} {
		var got []string
		for p := range tree.sameNamed(name) {
			rel, _ := filepath.Rel(dir, p)
			got = append(got, filepath.ToSlash(rel))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
