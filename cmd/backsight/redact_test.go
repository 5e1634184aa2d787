package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A core keeps its backtraces and loses the rest: MIPS, whose binaries the dynamic linker's list names, and x86-64 with
// NT_FILE.
func TestRedact(t *testing.T) {
	for _, dir := range []string{"mips-deref", "x86_64-threads"} {
		folder := filepath.Join("../../testdata", dir)
		args := []string{"--debug-dir", folder, "--sysroot", filepath.Join(folder, "modules")}
		out := filepath.Join(t.TempDir(), "clean.core")
		code, said, talk := bs(t, append([]string{"redact", "-o", out, filepath.Join(folder, "core.gz")}, args...)...)
		if code != exitOK || !strings.Contains(said, "the same ") || !strings.Contains(said, "what remains: ") {
			t.Fatalf("%s: exit code %d, %q, %q", dir, code, said, talk)
		}
		core, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"PATH=", "PWD=", "HOME="} {
			if bytes.Contains(core, []byte(s)) {
				t.Errorf("%s: %s is left", dir, s)
			}
		}
		show := append([]string{"bt", "--color", "never"}, args...)
		_, before, _ := bs(t, append(show, filepath.Join(folder, "core.gz"))...)
		_, after, _ := bs(t, append(show, out)...)
		if frameLines(before) != frameLines(after) {
			t.Errorf("%s: the backtraces became\n%s", dir, after)
		}
	}
}

// frameLines are the lines of a backtrace that are frames.
func frameLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// What is no core is refused, with nothing written, and so is the core itself as the file to write.
func TestRedactRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct{ path, says string }{
		{"../../testdata/mips-naked/snaps.jsonl.gz", "not a known capture format"},
		{"../../testdata/no-such-core", "cannot be opened"},
	} {
		code, _, talk := bs(t, "redact", "-o", out, c.path)
		if code != exitNone || !strings.Contains(talk, c.says) {
			t.Errorf("%s: exit code %d, %q", c.path, code, talk)
		}
	}
	core := "../../testdata/mips-deref/core.gz"
	if code, _, talk := bs(t, "redact", "-o", core, core); code != exitUsage || !strings.Contains(talk, "is the capture itself") {
		t.Errorf("exit code %d, %q", code, talk)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written")
	}
}
