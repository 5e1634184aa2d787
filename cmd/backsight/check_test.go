//go:build !small

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/unwind/lint"
)

// TestCheck: a library whose table is right, in text and in JSON; programs without a table; what
// makes no sense beside --check.
func TestCheck(t *testing.T) {
	const library = "../../testdata/x86_64-threads/modules/usr/lib/libtree.so"
	code, out, talk := bs(t, "table", "--check", library)
	if code != exitOK || !strings.HasPrefix(out, "cfi: ") || !strings.Contains(out, " wrong 0, ") || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	code, out, _ = bs(t, "table", "--check", "--format", "json", library)
	var r checkJSON
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || r.Table != "cfi" || r.Places == 0 || r.Findings == nil {
		t.Errorf("exit code %d, %v, %s", code, err, out)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{packer}, exitNone, "packer: no unwind table to check"},
		{[]string{"--format", "breakpad", library}, exitUsage, "--check writes text or, with --format json, JSON; not breakpad"},
		{[]string{"-o", "x", library}, exitUsage, "no -o, --sources, --add-section"},
	} {
		code, out, talk := bs(t, append([]string{"table", "--check"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d, want %d; %q", c.args, code, c.code, talk)
		}
	}
}

// TestFindings: what a finding looks like, its name escaped.
func TestFindings(t *testing.T) {
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { _ = files.Close() })
	img, err := files.Open(packer)
	if err != nil {
		t.Fatal(err)
	}
	r := lint.Report{Functions: 1, Places: 9, Findings: []lint.Finding{
		{Lo: 0x400100, Hi: 0x400108, Function: 0x400100, Table: "CFA=sp RA=ra", Code: "CFA=sp+32", Evidence: lint.Return, Certain: true}}}
	var b strings.Builder
	if err := writeFindings(&b, "packer", img, &r); err != nil {
		t.Fatal(err)
	}
	const want = "0x400100 to 0x400108  certain, by SP's way to a return\n  table  CFA=sp RA=ra\n  code   CFA=sp+32\n"
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	if err := writeFindingsJSON(&b, "packer", img, &r); err != nil || !strings.Contains(b.String(), `"trust": "certain"`) {
		t.Errorf("%v, %s", err, b.String())
	}
}
