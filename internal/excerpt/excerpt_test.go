package excerpt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/excerpt"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func archNamed(t *testing.T, name, abi string, big bool) *cpu.Arch {
	t.Helper()
	a, ok := backsight.CPUs().ByName(name, abi, big)
	if !ok {
		t.Fatalf("no %s", name)
	}
	return a
}

// shown is what Code shows, a line an instruction, the frame's own marked.
func shown(list []report.Instruction) string {
	var out []string
	for _, i := range list {
		if i.Here {
			out = append(out, "> "+i.Text)
			continue
		}
		out = append(out, i.Text)
	}
	return strings.Join(out, "; ")
}

// TestCode: a frame that waits for its call, on processors with and without instructions
// of one length.
func TestCode(t *testing.T) {
	x86 := []byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3} // push; mov; call; pop; ret
	mips := []byte{0x27, 0xbd, 0xff, 0xe0, 0x0c, 0x10, 0x00, 0x00, 0, 0, 0, 0, 0x03, 0xe0, 0x00, 0x08}
	thumb := []byte{0x08, 0xb5, 0x01, 0x4b, 0x98, 0x47, 0x08, 0xbd, 0x01, 0x00, 0x00, 0x20} // push; ldr r3,[pc,#4]; blx r3; pop; 0x20000001
	for _, tt := range []struct {
		name  string
		arch  *cpu.Arch
		code  []byte
		frame unwind.Frame
		at    symbol.Location
		want  string
	}{
		{"x86, entry known", archNamed(t, "x86_64", "", false), x86, unwind.Frame{PC: 0x400009, CallSite: 0x400008}, symbol.Location{Function: "f", Entry: 0x400000},
			"push %rbp; mov %rsp,%rbp; > callq 0x400009; pop %rbp; retq"},
		{"x86, interrupted, entry not known", archNamed(t, "x86_64", "", false), x86, unwind.Frame{PC: 0x400004, CallSite: 0x400004, Exact: true}, symbol.Location{},
			"> callq 0x400009; pop %rbp; retq"},
		{"T32 with a literal", archNamed(t, "arm", "", false), thumb, unwind.Frame{PC: 0x400006, CallSite: 0x400005, Mode: 1}, symbol.Location{Function: "f", Entry: 0x400000},
			"push {r3, lr}; ldr r3, [pc, #4]; > blx r3; pop {r3, pc}; .word 0x20000001"},
		{"mips", archNamed(t, "mips", "o32", true), mips, unwind.Frame{PC: 0x40000c, CallSite: 0x400004}, symbol.Location{},
			"addiu sp,sp,-32; > jal 0x400000; nop; jr ra"},
	} {
		m := synth.Module(tt.arch, 0x400000, tt.code)
		tt.frame.Module = m
		f := &report.Frame{Frame: &tt.frame, Location: &tt.at}
		if got := shown(excerpt.Code(synth.Capture(tt.arch, []*target.Module{m}), f, 2)); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

// TestSource: lines of a file below a sysroot; nothing from outside of it, nothing where
// the file is too short to be the one that was compiled.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	for name, text := range map[string]string{"root/src/a.c": "one\ntwo\nthree\nfour\nfive\n", "secret.c": "one\ntwo\nthree\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		at   symbol.Location
		want string
	}{
		{symbol.Location{File: "a.c", Dir: "/src", Line: 3}, "two >three four"},
		{symbol.Location{File: "/src/a.c", Line: 1}, ">one two"},
		{symbol.Location{File: "/src/a.c", Line: 9}, ""},
		{symbol.Location{File: "/../secret.c", Line: 2}, ""},
		{symbol.Location{File: "../secret.c", Line: 2}, ""},
		{symbol.Location{File: "/src", Line: 2}, ""},
	} {
		var got []string
		for _, l := range excerpt.Source([]string{root}, &report.Frame{Location: &tt.at}, 1) {
			if l.Here {
				l.Text = ">" + l.Text
			}
			got = append(got, l.Text)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %q, want %q", tt.at, got, tt.want)
		}
	}
}
