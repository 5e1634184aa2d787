package elfcore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// TestWrongBinaries: on a real core, binaries that cannot be the ones that ran
// are named and not used. Of binaries that are nowhere, the program is named: walks that end in a library need its code.
func TestWrongBinaries(t *testing.T) {
	path, good := recorded.Testdata(t, "x86_64-threads/core.gz"), recorded.Testdata(t, "x86_64-threads/modules")
	other := recorded.Testdata(t, "mips-deref/modules/usr/bin/netd")
	otherBuild := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(otherBuild, otherID(t, filepath.Join(good, "usr/bin/server")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		opt  input.FileOptions
		want string
	}{
		{"processor", input.FileOptions{Sysroots: []string{good}, Exe: other}, "a binary for mips o32 big-endian, the capture is of x86_64 little-endian; not used"},
		{"build", input.FileOptions{Sysroots: []string{good}, Exe: otherBuild}, "build ID "},
		{"nothing there", input.FileOptions{Sysroots: []string{t.TempDir()}}, "/usr/bin/server, mapped at 0x563b787f8000: not found\n"},
	} {
		snap, err := load(t, path, tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(snap.Issues); !strings.Contains(got, tt.want) || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: issues %q", tt.name, snap.Issues)
		}
		names := 0
		for _, m := range snap.Modules {
			if m.Image != nil && (m.Image.Path == other || m.Image.Path == otherBuild) {
				t.Errorf("%s: %s is used", tt.name, m.Image.Path)
			}
			if (m.Name == "/usr/bin/server" || m.Name == "/usr/lib/libtree.so") && m.BuildID != nil {
				names++
			}
		}
		if names != 2 || !hasVDSO(snap) {
			t.Errorf("%s: modules are missing: %d, vDSO %v", tt.name, names, hasVDSO(snap))
		}
	}
}

// buildIDNote is how a note with a build ID of 20 bytes begins (NT_GNU_BUILD_ID).
var buildIDNote = []byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")

// otherID is a program with another build ID.
func otherID(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, buildIDNote)
	if at < 0 { // big-endian
		at = bytes.Index(b, []byte("\x00\x00\x00\x04\x00\x00\x00\x14\x00\x00\x00\x03GNU\x00"))
	}
	b[at+len(buildIDNote)] ^= 1
	return b
}

func hasVDSO(snap *target.Snapshot) bool {
	for _, m := range snap.Modules {
		if m.Name == "[vdso]" && m.Image != nil {
			return true
		}
	}
	return false
}

// TestWrongBuildByHeaders: without build IDs the captured program headers tell
// another build, and the right files are still used.
func TestWrongBuildByHeaders(t *testing.T) {
	root := recorded.Testdata(t, "x86_64-threads/modules")
	data := recorded.Unzip(t, recorded.Testdata(t, "x86_64-threads/core.gz"))
	unknown := bytes.Clone(buildIDNote)
	unknown[8] = 0x99
	data = bytes.ReplaceAll(data, buildIDNote, unknown)
	for exe, want := range map[string]string{"": "", "usr/lib/libtree.so": "another build; not used", "usr/bin/server": ""} {
		opt := input.FileOptions{Sysroots: []string{root}}
		if exe != "" {
			opt.Exe = filepath.Join(root, exe)
		}
		snap, err := read(t, data, opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(snap.Issues); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: issues %q, want %q", exe, snap.Issues, want)
		}
		used := 0
		for _, m := range snap.Modules {
			if m.Image != nil {
				used++
			}
		}
		if wantUsed := map[bool]int{true: 5, false: 4}[want == ""]; used != wantUsed {
			t.Errorf("%s: %d modules have an image, want %d", exe, used, wantUsed)
		}
	}
}

// TestWrongBuildWithoutID: QEMU's cores have no build IDs; the entry point and
// the dynamic section tell another build.
func TestWrongBuildWithoutID(t *testing.T) {
	root := recorded.Testdata(t, "aarch64-signal/modules")
	snap, err := load(t, recorded.Testdata(t, "aarch64-signal/core.gz"), input.FileOptions{Sysroots: []string{root}, Exe: filepath.Join(root, "usr/lib/libplug.so")})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(snap.Issues); !strings.Contains(got, "another build; not used") {
		t.Errorf("issues %q", got)
	}
}

// TestWrongBuildOfLinked: QEMU names no files, and its cores have the first pages of some libraries. The dynamic linker's list leads to
// the library's name, the page to its build ID.
func TestWrongBuildOfLinked(t *testing.T) {
	good, root := recorded.Testdata(t, "mips-deref/modules"), t.TempDir()
	if err := os.CopyFS(root, os.DirFS(good)); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(root, "usr/lib/libproto.so")
	if err := os.WriteFile(lib, otherID(t, filepath.Join(good, "usr/lib/libproto.so")), 0o600); err != nil {
		t.Fatal(err)
	}
	data := recorded.Unzip(t, recorded.Testdata(t, "mips-deref/core.gz"))
	header := []byte("\x3f\xea\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00") // p_vaddr, p_paddr, p_filesz, p_memsz
	captured := bytes.Clone(header)
	captured[10] = 0x10 // its page is in the core, as the beginning of the data behind
	snap, err := read(t, bytes.Replace(data, header, captured, 1), input.FileOptions{Sysroots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(snap.Issues); !strings.Contains(got, lib+": build ID ") {
		t.Errorf("issues %q", got)
	}
	for _, m := range snap.Modules {
		if m.Image != nil && m.Image.Path == lib {
			t.Error("another build is used")
		}
	}
}
