package e2e_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCoreHandler: the core_pattern handler writes the backtrace of the core on its standard input,
// names the file by time and program, and keeps the newest ones.
func TestCoreHandler(t *testing.T) {
	for _, tool := range []string{"sh", "tr", "sort", "tail"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no ", tool)
		}
	}
	program, dir := command(t), t.TempDir()
	sysroot, err := filepath.Abs("../../testdata/mips-deref/modules")
	if err != nil {
		t.Fatal(err)
	}
	core := unzipped(t, "../../testdata/mips-deref/core.gz")
	for _, crash := range []string{"1700000001", "1700000002", "1700000003"} {
		cmd := exec.Command("sh", "../../contrib/coredump/backsight-core", "42", "11", crash, "!usr!bin!net d")
		cmd.Stdin = bytes.NewReader(core)
		cmd.Env = append(os.Environ(), "BACKSIGHT="+program, "BACKSIGHT_DIR="+dir, "BACKSIGHT_KEEP=2", "BACKSIGHT_SYSROOT="+sysroot)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(kept) != 2 || filepath.Base(kept[0]) != "1700000002-net_d-42.txt" {
		t.Fatalf("kept %q", kept)
	}
	got := read(t, kept[1])
	for _, want := range []string{"process 42 (net_d), signal 11, time 1700000003\n", "pack+0x0", "__start+0x50"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
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
