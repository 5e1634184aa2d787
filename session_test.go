package backsight_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/target"
)

// sysroot has the binaries of the core file in the repository.
var sysroot = input.FileOptions{Sysroots: []string{"testdata/mips-deref/modules"}, CacheDir: input.NoCache}

// TestErrors: what went wrong can be told apart without a look at texts.
func TestErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no capture at all\n", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	for _, tt := range []struct {
		path   string
		config backsight.Config
		is     error
	}{
		{"testdata/none", backsight.Config{}, fs.ErrNotExist},
		{text, backsight.Config{}, input.ErrUnrecognised},
		{"testdata/mips-deref/core.gz", backsight.Config{Symbols: []string{"testdata/none"}}, fs.ErrNotExist},
		{"testdata/mips-deref/core.gz", backsight.Config{Files: sysroot, Choose: func(*target.Snapshot) error { return refused }}, refused},
	} {
		n := 0
		for r, err := range backsight.Backtraces(t.Context(), tt.path, tt.config) {
			if n++; r != nil || !errors.Is(err, tt.is) {
				t.Errorf("%s: %v; want %v", tt.path, err, tt.is)
			}
			var e *input.Error
			if tt.is != refused && (!errors.As(err, &e) || e.Path == "") {
				t.Errorf("%s: %v names no file", tt.path, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d results", tt.path, n)
		}
	}
}

// TestSession: captures share a session's binaries, one may be left in the middle, and a report is signed.
func TestSession(t *testing.T) {
	s, err := backsight.NewSession(backsight.Config{Files: sysroot})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for r, err := range s.Reports(t.Context(), "testdata/mips-deref/core.gz") {
			if err != nil || len(r.Threads) != 1 || r.Threads[0].Signature == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range s.Reports(t.Context(), "testdata/mips-deref/core.gz") {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestNewFilesDefaults: without a word, debug files are looked for where this machine has them, and for another machine's binaries not.
func TestNewFilesDefaults(t *testing.T) {
	if dirs := backsight.NewFiles(input.FileOptions{CacheDir: input.NoCache}).DebugDirs(); len(dirs) != 1 || dirs[0] != backsight.HostDebugDir {
		t.Errorf("%q", dirs)
	}
	for _, opt := range []input.FileOptions{{DebugDirs: []string{}}, sysroot} {
		for _, dir := range backsight.NewFiles(opt).DebugDirs() {
			if dir == backsight.HostDebugDir {
				t.Errorf("%+v: %q", opt, dir)
			}
		}
	}
}

// TestFS: files of a program's own file system give what files of this machine give: binaries below a sysroot, and a core, whole
// and compressed, whose memory is read in pages.
func TestFS(t *testing.T) {
	for _, name := range []string{"mips-deref", "x86_64-threads", "aarch64-signal"} {
		dir := filepath.Join("testdata", name)
		want := jsonOf(t, filepath.Join(dir, "core.gz"), backsight.Config{Files: input.FileOptions{Sysroots: []string{filepath.Join(dir, "modules")}, CacheDir: input.NoCache}})
		own := fstest.MapFS{}
		if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(dir, path))
			own[path] = &fstest.MapFile{Data: data, Mode: 0o755}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(own["core.gz"].Data))
		if err != nil {
			t.Fatal(err)
		}
		core, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		own["core"] = &fstest.MapFile{Data: core}
		for _, capture := range []string{"core.gz", "core", "/core"} {
			got := jsonOf(t, capture, backsight.Config{Files: input.FileOptions{FS: own, Sysroots: []string{"modules"}}})
			if got = strings.ReplaceAll(got, `"modules/`, `"`+dir+`/modules/`); got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, capture, got, want)
			}
		}
	}
}

// jsonOf is the report of a capture of one snapshot.
func jsonOf(t *testing.T, path string, config backsight.Config) string {
	t.Helper()
	for r, err := range backsight.Backtraces(t.Context(), path, config) {
		if err != nil {
			t.Fatal(err)
		}
		return string(render.AppendJSON(nil, r, render.Style{}))
	}
	t.Fatal("no report")
	return ""
}
