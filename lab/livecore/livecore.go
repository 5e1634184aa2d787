// Package livecore makes real core files: it compiles a program, runs it, and takes what the
// kernel dumps when it dies. Where there is no compiler, or the kernel gives its dumps to
// somebody else, a test is skipped.
package livecore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds dir/program from one C file.
func Build(dir, compiler, source string, flags ...string) (program string, err error) {
	program = filepath.Join(dir, "program")
	if err := os.WriteFile(program+".c", []byte(source), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command(compiler, append(flags, "-o", program, "program.c")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

// Run runs a program in dir until it dies of a signal and returns its core file.
func Run(dir, program string, args ...string) (core string, err error) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return "", err
	}
	if name := strings.TrimSpace(string(pattern)); !strings.HasPrefix(name, "core") {
		return "", fmt.Errorf("the kernel writes no core file beside the program: core_pattern is %q", name)
	}
	run := append([]string{"-c", `ulimit -c unlimited && exec "$@"`, "sh", program}, args...)
	cmd := exec.Command("sh", run...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil {
		return "", fmt.Errorf("%s did not crash; it said %q", filepath.Base(program), out)
	}
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err == nil && len(cores) != 1 {
		err = fmt.Errorf("%d core files after a crash", len(cores))
	}
	if err != nil {
		return "", err
	}
	return cores[0], nil
}

// Compile is Build for tests.
func Compile(t testing.TB, compiler, source string, flags ...string) (program string) {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	program, err := Build(t.TempDir(), compiler, source, flags...)
	if err != nil {
		t.Skip(err)
	}
	return program
}

// Crash is Run for tests.
func Crash(t testing.TB, program string, args ...string) (core string) {
	t.Helper()
	core, err := Run(t.TempDir(), program, args...)
	if err != nil {
		t.Skip(err)
	}
	return core
}
