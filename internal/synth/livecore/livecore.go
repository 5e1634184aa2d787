// Package livecore makes real core files for tests: it compiles a program, runs it, and takes
// what the kernel dumps when it dies. Where there is no compiler, or the kernel gives its dumps
// to somebody else, the test is skipped.
package livecore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Compile builds a program from one C file and returns its path.
func Compile(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(flags, "-o", program, "program.c")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	return program
}

// Crash runs a program until it dies of a signal and returns its core file.
func Crash(t testing.TB, program string, args ...string) (core string) {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if name := strings.TrimSpace(string(pattern)); err != nil || !strings.HasPrefix(name, "core") {
		t.Skipf("the kernel writes no core file beside the program: core_pattern is %q", name)
	}
	dir := t.TempDir()
	run := append([]string{"-c", `ulimit -c unlimited && exec "$@"`, "sh", program}, args...)
	cmd := exec.Command("sh", run...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("%s did not crash; it said %q", filepath.Base(program), out)
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Skipf("%d core files after a crash, %v", len(cores), err)
	}
	return cores[0]
}
