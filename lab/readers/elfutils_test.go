package readers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/readers"
)

// waits waits in three functions below its start, and has no frame pointers.
const waits = `
static long call(long n, long a, long b, long c) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
__attribute__((noinline)) long inner(volatile long *x) { call(1, 1, (long)x, 1); call(34, 0, 0, 0); return *x; }
__attribute__((noinline)) long middle(long n) { volatile long x[10]; x[3] = n; return inner(x + 3) + 1; }
__attribute__((noinline)) long outer(long n) { return middle(n + 1) * 2; }
__attribute__((force_align_arg_pointer)) void _start(void) { outer(1); call(60, 0, 0, 0); __builtin_unreachable(); }
`

// TestElfutils: eu-stack has every frame of a running program without symbols and tables, with the
// debug file that our rules make, and fewer without.
func TestElfutils(t *testing.T) {
	for _, tool := range []string{"gcc", "objcopy", "eu-stack"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "waits.c"), []byte(waits))
	build := exec.CommandContext(t.Context(), "sh", "-ec", `
		gcc -O2 -fomit-frame-pointer -fcf-protection=none -static -nostdlib -Wl,--build-id -o full waits.c
		objcopy -R .eh_frame -R .eh_frame_hdr --strip-all full naked`)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no x86-64 program: %v: %s", err, out)
	}
	naked := filepath.Join(dir, "naked")
	debug := debugFile(t, naked)
	running := child.Command(t.Context(), naked)
	out, err := running.StdoutPipe()
	if err == nil {
		err = running.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Process.Kill(); _ = running.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is about to wait
		t.Fatal(err)
	}
	const all = 4
	if n := frames(t, running.Process.Pid, filepath.Join(dir, "none")); n >= all {
		t.Errorf("%d frames without our file, which proves nothing then", n)
	}
	if n := frames(t, running.Process.Pid, debug); n != all {
		t.Errorf("%d frames, want %d", n, all)
	}
}

// debugFile writes the debug file of a program into a folder as debuggers look for it there.
func debugFile(t *testing.T, program string) (dir string) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	img, err := files.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := backsight.ListRules(t.Context(), img)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := readers.Write(&b, "debug_frame", p); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(filepath.Dir(program), "debug")
	for _, f := range backsight.TableFormats() {
		if f.Name == "debug_frame" {
			write(t, filepath.Join(dir, f.FileName(p)), []byte(b.String()))
		}
	}
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// frames is how many frames eu-stack prints of a process, with debug files from a folder.
func frames(t *testing.T, pid int, debug string) int {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "eu-stack", "-p", strconv.Itoa(pid), "--debuginfo-path="+debug).Output()
	all := regexp.MustCompile(`(?m)^#\d+ +0x`).FindAll(out, -1)
	if len(all) == 0 {
		t.Skip("eu-stack may not look into other processes")
	}
	return len(all)
}
