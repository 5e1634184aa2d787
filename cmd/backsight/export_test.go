package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packer is a MIPS program without symbols and tables.
const packer = "../../testdata/mips-naked/modules/packer"

// TestExport: rules for other programs go to standard output or into the file of -o.
func TestExport(t *testing.T) {
	code, out, talk := bs(t, "table", "--format", "json", packer)
	var table struct{ Functions []any }
	if err := json.Unmarshal([]byte(out), &table); code != exitOK || err != nil || len(table.Functions) < 5 {
		t.Errorf("exit code %d, %d functions, %v, %q", code, len(table.Functions), err, talk)
	}
	path := filepath.Join(t.TempDir(), "packer.json")
	if code, out, talk := bs(t, "table", "--format", "json", "-o", path, packer); code != exitOK || out != "" || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != out {
		t.Errorf("the file has other bytes than standard output: %v", err)
	}
}

// TestExportWrong: one line, with the reason.
func TestExportWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--format", "stabs", packer}, exitUsage, `--format: no form of tables is called "stabs"; there are `},
		{[]string{"--format", "json", "--sources", "fp", packer}, exitUsage, "--sources: no table can be compiled from"},
		{[]string{"--format", "json", "-o", "/nowhere/x", packer}, exitNone, "/nowhere"},
		{[]string{"--format", "json", write(t, "text", "text\n")}, exitNone, "text"},
	} {
		code, out, talk := bs(t, append([]string{"table"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d, want %d; %q", c.args, code, c.code, talk)
		}
	}
}
