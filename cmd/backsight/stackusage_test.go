//go:build !small

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const m3 = "../../testdata/microcontroller/m3-freertos.elf"

// TestStackUsage: the deepest path with its interrupts; the functions that take most; a limit that a stack exceeds.
func TestStackUsage(t *testing.T) {
	code, out, talk := bs(t, "usage", "--top", "2", m3)
	if code != exitOK || talk != "" {
		t.Fatalf("exit code %d, %q", code, talk)
	}
	for _, want := range []string{"\nentry Reset: 856 bytes\n      32  Reset\n       8  startup\n", "interrupted by", "     396  Fault\n",
		"pointer crash: at least ", "open, so that depths are \"at least\"", "      recursion deep FRAMES\n",
		"\n     own   depth  function\n     608     664  large\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 && !strings.HasPrefix(line, m3) {
			t.Errorf("a long line: %s", line)
		}
	}
	if code, _, _ := bs(t, "usage", "--max", "100000", m3); code != exitIncomplete {
		t.Errorf("--max of what is open: exit code %d", code)
	}
	notes := written(t, "closed.txt", "recursion deep 12\ncall caught -> # nothing is registered\ncall 0x412 ->\n")
	if code, out, talk := bs(t, "usage", "-a", notes, "--max", "3000", m3); code != exitOK {
		t.Errorf("all closed: exit code %d, %s\n%s", code, talk, out)
	}
	if code, _, _ := bs(t, "usage", "-a", notes, "--max", "300", m3); code != exitIncomplete {
		t.Errorf("too deep: exit code %d", code)
	}
}

// TestStackUsageForms: JSON, which a later build is compared with, and a page.
func TestStackUsageForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.json")
	if code, _, talk := bs(t, "usage", "-f", "json", "-o", file, m3); code != exitOK {
		t.Fatal(talk)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r stackJSON
	if err := json.Unmarshal(text, &r); err != nil || r.Version != stackVersion || len(r.Roots) < 5 || len(r.Functions) < 100 {
		t.Errorf("%v, %.200s", err, text)
	}
	_, out, _ := bs(t, "usage", "--diff", file, m3)
	if !strings.HasSuffix(out, "\n0 functions take more stack than before\n") {
		t.Errorf("%s", out)
	}
	older := written(t, "older.json", strings.Replace(string(text), `"own": 608`, `"own": 500`, 1))
	if _, out, _ = bs(t, "usage", "--diff", older, m3); !strings.HasSuffix(out, "\n1 function takes more stack than before\n    +108  large: own 608, was 500; depth 664, was 664\n") {
		t.Errorf("%s", out)
	}
	code, out, _ := bs(t, "usage", "-f", "html", m3)
	if code != exitOK || !strings.HasPrefix(out, "<!DOCTYPE html>") || !strings.Contains(out, "entry Reset: 856 bytes") {
		t.Errorf("exit code %d, %.300s", code, out)
	}
}

// TestStackUsageRefuses: what makes no sense, and files that are not what they should be.
func TestStackUsageRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-f", "xml", m3}, exitUsage, "--format: there are text, json and html, not xml"},
		{[]string{"--max", "-1", m3}, exitUsage, "--max and --top want a number that is not negative"},
		{[]string{"--root", "main=many", m3}, exitUsage, `--root: line 1: "many" is no number of bytes or frames`},
		{[]string{"-a", written(t, "a.txt", "bound\n"), m3}, exitNone, "a.txt: line 1: bound wants a function and a number"},
		{[]string{"--diff", written(t, "b.json", `{"usage": 7}`), m3}, exitNone, "b.json: no JSON of usage, or of another version"},
		{[]string{"nowhere"}, exitNone, "nowhere: cannot be opened"},
	} {
		code, out, talk := bs(t, append([]string{"usage"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d, want %d; %q", c.args, code, c.code, talk)
		}
	}
	_, _, talk := bs(t, "usage", "--root", "nobody", "-a", written(t, "c.txt", "recursion nobody 3\n"), m3)
	if !strings.Contains(talk, "annotations: no function is called nobody") {
		t.Errorf("%q", talk)
	}
}

// written is a file with a text.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
