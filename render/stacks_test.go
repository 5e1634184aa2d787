package render_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
)

// TestFolded: equal stacks of several captures are counted, outermost first; an inlined
// function is a place of its own, a guess has its mark, and nothing in a name separates.
func TestFolded(t *testing.T) {
	var s render.Stacks
	other := sample(t)
	other.Threads[0].Frames[0].Function = "a;b\x1b"
	for _, r := range []*report.Report{sample(t), {}, sample(t), other} {
		s.Add(r)
	}
	const callers = "firmware.elf;firmware.elf+0x52d0?;firmware.elf+0x1284;mybacktrace;leaf;"
	want := callers + "hello 2\n" + callers + `a:b\x1b 1` + "\n"
	if got := string(s.AppendFolded(nil)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := new(render.Stacks).AppendFolded(nil); got != nil {
		t.Errorf("no stacks: %q", got)
	}
}

// TestPprof: the profile has each name once, and what pprof makes of it is what was counted.
func TestPprof(t *testing.T) {
	var s render.Stacks
	s.Add(sample(t))
	s.Add(sample(t))
	profile, err := s.AppendPprof(nil)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || bytes.Count(plain, []byte("mybacktrace")) != 1 {
		t.Fatalf("%v, in %d bytes", err, len(plain))
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(file, profile, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-traces", file).CombinedOutput()
	if err != nil {
		t.Skipf("%v: %s", err, out)
	}
	const want = "2   hello leaf mybacktrace firmware.elf+0x1284 firmware.elf+0x52d0?"
	if got := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(got, strings.Join(strings.Fields(want), " ")) || strings.Contains(got, "failed") {
		t.Errorf("pprof says\n%s", out)
	}
}
