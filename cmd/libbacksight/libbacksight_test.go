package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/backsight/backsight/internal/embedded"
)

const (
	capture = "../../testdata/mips-deref/core.gz"
	sysroot = "../../testdata/mips-deref/modules"
)

// TestExamples: the examples in C and Python write what the command writes, by the shared library and by the archive.
func TestExamples(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("compiles the project with cgo; BACKSIGHT_LONG=1")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the library is built and linked as Linux has it")
	}
	cc := program(t, "cc")
	dir := t.TempDir()
	shared, archive := filepath.Join(dir, "libbacksight.so"), filepath.Join(dir, "libbacksight.a")
	library(t, "c-shared", shared)
	example := filepath.Join(dir, "example")
	result(t, exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-o", example, "example/example.c", shared))
	want := reports(t)
	check(t, "C, shared", want, result(t, exec.Command(example, capture, sysroot)))
	if python, err := exec.LookPath("python3"); err == nil {
		check(t, "Python", want, result(t, exec.Command(python, "example/example.py", shared, capture, sysroot)))
		closed := `import ctypes, sys
b = ctypes.CDLL(sys.argv[1]); b.backsight_json.restype = ctypes.c_void_p
said = ctypes.c_char_p(); b.backsight_close(1); b.backsight_close(0)
print(b.backsight_json(1, b"core", ctypes.byref(said)), said.value.decode())`
		check(t, "a session that is not open", "None the session is not open\n", result(t, exec.Command(python, "-c", closed, shared)))
	}
	if testing.Short() {
		return
	}
	library(t, "c-archive", archive)
	result(t, exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-o", example, "example/example.c", archive, "-lpthread", "-lresolv"))
	check(t, "C, archive", want, result(t, exec.Command(example, capture, sysroot)))
}

// program is the path of one that the test needs.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: the library is not built", name)
	}
	return path
}

// library builds the library, as of no release.
func library(t *testing.T, mode, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode="+mode, "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	result(t, cmd)
}

func result(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// reports are what the command writes, see TestEmbedded of internal/e2e.
func reports(t *testing.T) string {
	t.Helper()
	s, err := embedded.Open(`{"sysroot": ["` + sysroot + `"]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Backtraces(t.Context(), "json", capture)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func check(t *testing.T, what, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}
