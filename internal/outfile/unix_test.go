//go:build unix

package outfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/backsight/backsight/internal/outfile"
)

// TestLink: a link stays, and its target is replaced; a target that is not there yet is made there.
func TestLink(t *testing.T) {
	links, files := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{"b": filepath.Join(files, "table"), "a": "b"} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, s := range []string{"new", "again"} {
		if err := outfile.Write(t.Context(), filepath.Join(links, "a"), 0o666, text(s)); err != nil {
			t.Fatal(err)
		}
		holds(t, filepath.Join(files, "table"), s)
	}
	if target, err := os.Readlink(filepath.Join(links, "a")); target != "b" {
		t.Errorf("the link leads to %q: %v", target, err)
	}
	if err := os.Symlink("loop", filepath.Join(links, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := outfile.Write(t.Context(), filepath.Join(links, "loop"), 0o666, text("x")); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
}

// TestFIFO: a FIFO stays one, and its reader has what is written. So does the null device, for root too.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		done := make(chan error, 1)
		go func() { done <- outfile.Write(t.Context(), name, 0o666, text("table")) }()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(f); string(b) != "table" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if err := errors.Join(<-done, f.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := outfile.Write(t.Context(), os.DevNull, 0o666, text("x")); err != nil {
		t.Error(err)
	}
	for name, kind := range map[string]fs.FileMode{path: fs.ModeNamedPipe, link: fs.ModeSymlink, os.DevNull: fs.ModeDevice | fs.ModeCharDevice} {
		if st, err := os.Lstat(name); err != nil || st.Mode().Type() != kind {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

// TestOpenFile: /dev/fd/N is the file that is open, behind what it has (>>log).
func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("old "), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(f.Fd())))
	if st, err := os.Lstat(name); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Skip("no links to open files here")
	}
	if err := outfile.Write(t.Context(), name, 0o666, text("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "old new")
}

// TestReadOnly: what the user may not write is not replaced, though its directory may be written.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write it")
	}
	path := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(path, []byte("old"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := outfile.Write(t.Context(), path, 0o666, text("new")); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	holds(t, path, "old")
}

// TestOwner: root's write leaves the file to its owner, with the bits of its mode.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Chown(path, 4711, 4712) != nil || os.Chmod(path, 0o750|fs.ModeSetuid) != nil {
		t.Skip("only root can give files away")
	}
	if err := outfile.Write(t.Context(), path, 0o666, text("new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sys().(*syscall.Stat_t); s.Uid != 4711 || s.Gid != 4712 || st.Mode() != 0o750|fs.ModeSetuid {
		t.Errorf("owner %d:%d, mode %v", s.Uid, s.Gid, st.Mode())
	}
}
