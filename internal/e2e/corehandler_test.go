package e2e_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// handled runs the core_pattern handler for a crash of "net d" at a time, and returns its exit code.
func handled(t *testing.T, time string, core []byte, settings ...string) int {
	t.Helper()
	for _, tool := range []string{"sh", "tr", "sort", "tail", "timeout"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no ", tool)
		}
	}
	cmd := exec.Command("sh", "../../contrib/coredump/backsight-core", "42", "11", time, "!usr!bin!net d")
	cmd.Stdin = bytes.NewReader(core)
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode()
}

// TestCoreHandler: the core_pattern handler writes the backtrace of the core on its standard input,
// names the file by time and program, lets only its owner read it, and keeps the newest ones. What it
// has not written stays.
func TestCoreHandler(t *testing.T) {
	program, dir := command(t), t.TempDir()
	sysroot, err := filepath.Abs("../../testdata/mips-deref/modules")
	if err != nil {
		t.Fatal(err)
	}
	foreign := []string{"0-notes", "1600000000-net_d-41.txt", "README.txt", "syslog"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("process 7 (x), signal 11, time 5\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	core := unzipped(t, "../../testdata/mips-deref/core.gz")
	for _, crash := range []string{"1700000001", "1700000002", "1700000003"} {
		if code := handled(t, crash, core, "BACKSIGHT="+program, "BACKSIGHT_DIR="+dir, "BACKSIGHT_KEEP=2", "BACKSIGHT_SYSROOT="+sysroot); code != 0 {
			t.Fatalf("exit code %d", code)
		}
	}
	var kept []string
	all, _ := os.ReadDir(dir)
	for _, f := range all {
		kept = append(kept, f.Name())
	}
	want := []string{"0-notes", "1600000000-net_d-41.txt", "1700000002-net_d-42.txt", "1700000003-net_d-42.txt", "README.txt", "syslog"}
	if !slices.Equal(kept, want) {
		t.Fatalf("kept %q", kept)
	}
	last := filepath.Join(dir, "1700000003-net_d-42.txt")
	if st, err := os.Stat(last); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	got := read(t, last)
	for _, want := range []string{"process 42 (net_d), signal 11, time 1700000003\n", "pack+0x0", "__start+0x50"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestCoreHandlerLimit: a backtrace that takes too long is given up, and the report says so. Without
// BACKSIGHT_SYSROOT nothing is searched through.
func TestCoreHandlerLimit(t *testing.T) {
	dir := t.TempDir()
	slow := filepath.Join(dir, "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\necho \"$@\"\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	code := handled(t, "1700000001", nil, "BACKSIGHT="+slow, "BACKSIGHT_DIR="+dir, "BACKSIGHT_SECONDS=1", "BACKSIGHT_SYSROOT=")
	got := read(t, filepath.Join(dir, "1700000001-net_d-42.txt"))
	const want = "process 42 (net_d), signal 11, time 1700000001\nbt --color never --sysroot / --no-index -\nno backtrace within 1 s\n"
	if code == 0 || got != want {
		t.Errorf("exit code %d\n%s", code, got)
	}
}

// unzipped is the content of a gzip file.
func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
