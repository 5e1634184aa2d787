//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
)

// busyFor, in the environment, makes the test's program a busy one.
const busyFor = "BACKSIGHT_TEST_BUSY"

// TestRecord: a command is recorded from its beginning, and what it calls is found.
func TestRecord(t *testing.T) {
	if d, err := time.ParseDuration(os.Getenv(busyFor)); err == nil {
		beBusy(d)
		return
	}
	t.Setenv(busyFor, "400ms")
	file := filepath.Join(t.TempDir(), "profile")
	code, out, errs := bs(t, "record", "-F", "500", "-o", file, "--", os.Args[0], "-test.run", "^TestRecord$")
	if strings.Contains(errs, "does not allow it") {
		t.Skip(errs)
	}
	if code != exitOK || !strings.Contains(out, "PASS") {
		t.Fatalf("exit code %d, said %q, the command %q", code, errs, out)
	}
	profile, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole, all := counted(string(profile), ";testing.tRunner;"), counted(string(profile), "")
	if all < 20 || whole*2 < all {
		t.Errorf("of %d samples %d are the test's:\n%s", all, whole, profile)
	}
}

var busy int

// beBusy takes as much of a processor's time. What asks for the time, and what the race detector does, runs on another stack, of which
// a sample has nothing.
//
//go:noinline
//go:norace
func beBusy(d time.Duration) {
	for used := (syscall.Rusage{}); time.Duration(used.Utime.Nano()) < d; _ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) {
		for i := range 10_000_000 {
			busy += i
		}
	}
}

// TestRecordProcess: a process that runs is recorded until an end is put to it, and goes on.
func TestRecordProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestRecord$")
	cmd.Env = append(os.Environ(), busyFor+"=20s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	code, out, errs := bs(t, "record", "-F", "999", "-p", strconv.Itoa(cmd.Process.Pid), "--duration", "500ms")
	if strings.Contains(errs, "does not allow it") {
		t.Skip(errs)
	}
	if code != exitOK || !strings.Contains(out, ".beBusy") {
		t.Errorf("exit code %d, said %q, profile %q", code, errs, out)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process: %v", err)
	}
}

// TestRecordData: the recording goes to standard output (-o -), as perf has it, and tells of the program as it was at its beginning, even
// where that is over soon; how it ended is said.
func TestRecordData(t *testing.T) {
	code, out, errs := bs(t, "record", "-f", "data", "-o", "-", "--", os.Args[0], "-test.nosuchflag")
	if strings.Contains(errs, "does not allow it") {
		t.Skip(errs)
	}
	if code != exitOK || !strings.Contains(errs, "the command: exit status 2") {
		t.Errorf("exit code %d, said %q", code, errs)
	}
	for _, want := range []string{"cpu-clock:u\x00", filepath.Base(os.Args[0]) + "\x00", string(ownBuildID(t))} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
}

// ownBuildID is the build ID of this program.
func ownBuildID(t *testing.T) []byte {
	t.Helper()
	img, err := elf.Open(os.Args[0], image.Options{Archs: backsight.CPUs()})
	if err != nil || img.BuildID == nil {
		t.Fatal("this program has no build ID: ", err)
	}
	t.Cleanup(func() { _ = img.Close() })
	return img.BuildID
}

// TestRecordReplaced: a file that was replaced while a process runs is told by the build ID that it had.
func TestRecordReplaced(t *testing.T) {
	program := ownCopy(t)
	pid := busyProcess(t, program)
	if err := errors.Join(os.Remove(program), os.WriteFile(program, []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := bs(t, "record", "-F", "999", "-p", pid, "--duration", "500ms", "-f", "data", "-o", "-")
	if strings.Contains(errs, "does not allow it") {
		t.Skip(errs)
	}
	if code != exitOK || !strings.Contains(out, string(ownBuildID(t))) {
		t.Errorf("exit code %d, said %q, and no build ID in %d bytes", code, errs, len(out))
	}
}

// TestRecordStartsNothing: where the profile could not be made, or not be written, the command does not run.
func TestRecordStartsNothing(t *testing.T) {
	dir := t.TempDir()
	none, mark := filepath.Join(dir, "none"), filepath.Join(dir, "mark")
	for _, flags := range [][]string{{"--sysroot", none}, {"-e", none}, {"-o", filepath.Join(none, "profile")}, {"-o", dir}} {
		code, _, errs := bs(t, append(append([]string{"record"}, flags...), "--", "touch", mark)...)
		if _, err := os.Stat(mark); code != exitNone || err == nil || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, said %q, mark: %v", flags, code, errs, err)
		}
	}
}

// TestRecordRefuses: one line says what is wrong.
func TestRecordRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"name a process":       {"record"},
		"process 99999999":     {"record", "-p", "99999999"},
		"/no/such/command":     {"record", "--", "/no/such/command"},
		"--stack wants":        {"record", "--stack", "9", "-p", "1"},
		`--format "x" is none`: {"record", "-f", "x", "-p", "1"},
	} {
		if code, _, errs := bs(t, args...); code == exitOK || !strings.Contains(errs, want) || strings.Count(errs, "\n") > 2 {
			t.Errorf("%v: exit code %d, said %q", args, code, errs)
		}
	}
}
