//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/internal/procfs"
	"github.com/spf13/pflag"
)

// busyProcess is a process of a program that is this one, or a copy that is busy in beBusy.
func busyProcess(t *testing.T, program string) (pid string) {
	t.Helper()
	cmd := exec.Command(program, "-test.run", "^TestRecord$")
	cmd.Env = append(os.Environ(), busyFor+"=60s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	pid = strconv.Itoa(cmd.Process.Pid)
	for cpu := uint64(0); cpu < 2; { // ticks of its own time: the runtime of Go has begun
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")"):])
		cpu, _ = strconv.ParseUint(fields[12], 10, 64)
	}
	return pid
}

// counted is how many of folded stacks have a function.
func counted(folded, function string) (sum int) {
	for line := range strings.Lines(folded) {
		stack, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(count); err == nil && strings.Contains(stack, function) {
			sum += n
		}
	}
	return sum
}

// onlyStood tells whether nothing was said but how long a process stood still.
func onlyStood(errs string) bool {
	return strings.Count(errs, "\n") == 1 && strings.Contains(errs, " stood still for ")
}

// TestProcess: all goroutines of a process that runs have backtraces, and the process goes on.
func TestProcess(t *testing.T) {
	pid := busyProcess(t, os.Args[0])
	for range 20 {
		code, out, errs := bs(t, "bt", "-p", pid)
		if strings.Contains(errs, "not allowed") {
			t.Skip(errs)
		}
		if code != exitOK || !onlyStood(errs) || !strings.Contains(out, ".beBusy") || strings.Count(out, "oroutine") < 3 {
			t.Fatalf("exit code %d, said %q, printed\n%s", code, errs, out)
		}
	}
	code, out, errs := bs(t, "bt", "-p", pid, "--count", "5", "--every", "10ms", "-f", "folded")
	if n := counted(out, ".beBusy"); code != exitOK || n != 5 || !strings.Contains(errs, "stood still 5 times, at most for ") {
		t.Errorf("five looks: exit code %d, said %q, beBusy %d times in\n%s", code, errs, n, out)
	}
	if code, out, errs := bs(t, "bt", "--freeze", "--count", "2", "--every", "1ms", "-p", pid); code != exitOK || strings.Count(out, ".beBusy") != 2 {
		t.Errorf("frozen: exit code %d, said %q, printed\n%s", code, errs, out)
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "TracerPid:\t0\n") || strings.Contains(string(status), "State:\tt") {
		t.Errorf("the process is not as it was: %v\n%s", err, status)
	}
}

// ownCopy is a copy of this program.
func ownCopy(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	own, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, own, 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestReplaced: a program whose file was replaced or deleted while it runs has its names all the same.
func TestReplaced(t *testing.T) {
	file := ownCopy(t)
	pid := busyProcess(t, file)
	for what, step := range map[string]func() error{
		"deleted":  func() error { return os.Remove(file) },
		"replaced": func() error { return errors.Join(os.Remove(file), os.WriteFile(file, []byte("another"), 0o600)) },
	} {
		if err := step(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		code, out, errs := bs(t, "bt", "-p", pid)
		if strings.Contains(errs, "not allowed") {
			t.Skip(errs)
		}
		if code != exitOK || !onlyStood(errs) || !strings.Contains(out, ".beBusy") {
			t.Errorf("%s: exit code %d, said %q, printed\n%s", what, code, errs, out)
		}
	}
}

// TestWaits: what a thread waits for in the kernel is said.
func TestWaits(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	for len(procfs.Waits("/proc/"+pid)) == 0 { // it begins
		time.Sleep(time.Millisecond)
	}
	out, errs := "", ""
	for end := time.Now().Add(10 * time.Second); !strings.Contains(out, "    sleeping") && time.Now().Before(end); { // it may wait for its file
		var code int
		if code, out, errs = bs(t, "bt", "-p", pid); code != exitOK {
			break
		}
	}
	if strings.Contains(errs, "not allowed") {
		t.Skip(errs)
	}
	if !strings.Contains(out, "    sleeping") {
		t.Errorf("said %q, printed\n%s", errs, out)
	}
	if named := processesNamed("sleep"); !slices.Contains(named, cmd.Process.Pid) {
		t.Errorf("processes that are called sleep: %d", named)
	}
}

// TestProcessCore: a small core has what the process had.
func TestProcessCore(t *testing.T) {
	pid, file := busyProcess(t, os.Args[0]), filepath.Join(t.TempDir(), "core")
	code, _, errs := bs(t, "core", "-p", pid, "-o", file)
	if strings.Contains(errs, "not allowed") {
		t.Skip(errs)
	}
	if code != exitOK || !strings.Contains(errs, "stood still for ") {
		t.Fatalf("exit code %d, said %q", code, errs)
	}
	if code, out, errs := bs(t, "bt", file); code != exitOK || !strings.Contains(out, ".beBusy") {
		t.Errorf("exit code %d, said %q, printed\n%s", code, errs, out)
	}
	if st, err := os.Stat(file); err != nil || st.Size() > 16<<20 || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

// TestProcessRefused: one line says why a process cannot be looked at.
func TestProcessRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"process 99999999: not found":    {"bt", "-p", "99999999"},
		"name a process":                 {"core", "-o", "x"},
		"no process has this ID or name": {"bt", "-p", "no such program"},
		"process 99999998: not found":    {"core", "-p", "99999998", "-o", filepath.Join(t.TempDir(), "core")},
	} {
		if code, _, errs := bs(t, args...); code == exitOK || !strings.Contains(errs, want) || strings.Count(errs, "\n") > 2 {
			t.Errorf("%v: exit code %d, said %q", args, code, errs)
		}
	}
}

// TestDebugRoots: this machine's debug files are those of its processes, whatever root they see, and not those of another machine's
// files.
func TestDebugRoots(t *testing.T) {
	for _, tt := range []struct {
		what, args string
		root       bool // of a process
		want       string
	}{
		{"a core of this machine", "", false, "[/usr/lib/debug]"},
		{"a process in a container", "", true, "[/usr/lib/debug]"},
		{"a core of another machine", "--sysroot /box", false, "[]"},
		{"with its debug files", "--sysroot /box --debug-dir /box-debug", false, "[/box-debug]"},
		{"a process, with a sysroot", "--sysroot /box", true, "[]"},
	} {
		var ff fileFlags
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		ff.add(f)
		if err := f.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		if tt.root {
			ff.sysroots = append(ff.sysroots, "/proc/1/root")
		}
		if got := fmt.Sprint(ff.debugRoots()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
}
