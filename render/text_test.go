package render_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

func o32(t testing.TB) *cpu.Arch {
	t.Helper()
	a, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no mips o32")
	}
	return a
}

// sample is the contract's example: four frames, falling trust, one of them with
// an inlined function.
func sample(t testing.TB) *report.Report {
	arch := o32(t)
	fw := &target.Module{
		Name: "/lib/firmware.elf", Range: target.Range{Lo: 0x400000, Hi: 0x4a0000},
		Image:   image.New(image.Header{Path: "build/firmware.elf", Arch: arch}, nil),
		BuildID: []byte{0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a},
	}
	thread := target.Thread{ID: 1, Name: "main", Crashed: true}
	thread.Regs.Set(arch.PC, 0x400d2c)
	thread.Regs.Set(arch.SP, 0x7fffe000)
	snap := &target.Snapshot{
		Arch: arch, OS: "Linux", PID: 7, Threads: []target.Thread{thread}, Modules: []*target.Module{fw},
		Fault:  &target.Fault{Name: "SIGSEGV", HasAddress: true, Thread: 1},
		Issues: []target.Issue{{Text: "libz.so.1: not found"}},
	}
	frame := func(pc, cfa uint64, m unwind.Method, tr unwind.Trust, l symbol.Location) report.Frame {
		f := report.Frame{Location: &l, Frame: &unwind.Frame{PC: pc, CallSite: pc, CFA: cfa, HasCFA: cfa != 0,
			Module: fw, Method: m, Trust: tr, Checks: unwind.Executable}}
		if m != unwind.MethodContext {
			f.CallSite = pc - 8
			f.Checks |= unwind.CallBefore
		}
		return f
	}
	return &report.Report{
		Snapshot: snap, Issues: snap.Issues,
		Threads: []report.Thread{{Thread: &snap.Threads[0], Stop: unwind.Stop{Reason: unwind.StopUnreadable, Addr: 0x7ffff000}, Frames: []report.Frame{
			frame(0x400d2c, 0x7fffe020, unwind.MethodContext, unwind.Certain, symbol.Location{
				Function: "hello", Entry: 0x400d10, File: "/src/hello.c", Dir: "/src", Line: 14}),
			frame(0x400d34, 0x7fffe040, unwind.MethodCode, unwind.Certain, symbol.Location{
				Function: "mybacktrace", Entry: 0x400d0c, File: "/src/lib/backtrace.c", Dir: "/src/", Line: 31,
				Inlines: []symbol.Inline{{Function: "leaf", File: "/usr/include/leaf.h", Line: 3}}}),
			frame(0x401284, 0x7fffe060, unwind.MethodCode, unwind.Likely, symbol.Location{}),
			frame(0x4052d0, 0, unwind.MethodScan, unwind.Guess, symbol.Location{}),
		}}},
	}
}

func TestText(t *testing.T) {
	golden(t, "text.txt", render.AppendText(nil, sample(t), render.Style{}))
}

// TestTask: what a kernel knows of its task stands below the name.
func TestTask(t *testing.T) {
	for _, c := range []struct {
		task target.Task
		want string
	}{
		{target.Task{State: "waiting", Priority: 5, HasPriority: true, Filled: true, Unused: 312}, "\n    waiting, priority 5, 312 of 1024 bytes of stack never used\n"},
		{target.Task{State: "running", Filled: true, Overflown: true}, "\n    running, STACK OVERFLOW: its end at 0x7fffe000 was overwritten\n"},
		{target.Task{}, "at 0x00000000\n#0"},
	} {
		r := sample(t)
		th := *r.Threads[0].Thread
		th.Task, th.Stack = &c.task, target.Range{Lo: 0x7fffe000, Hi: 0x7fffe400}
		r.Threads[0].Thread = &th
		if got := string(render.AppendText(nil, r, render.Style{})); !strings.Contains(got, c.want) {
			t.Errorf("no %q in\n%s", c.want, got)
		}
		valid(t, render.AppendJSONLine(nil, r, render.Style{}))
	}
}

// TestInlinedWithoutAddress: a function that was inlined into one that a capture lists by its name alone has no address either.
func TestInlinedWithoutAddress(t *testing.T) {
	r := sample(t)
	f := &r.Threads[0].Frames[1]
	f.PC, f.Method = 0, unwind.MethodPrewalked
	if got := string(render.AppendText(nil, r, render.Style{})); strings.Contains(got, "0x00000000  leaf") || !strings.Contains(got, "leaf (inlined)") {
		t.Error(got)
	}
}

func TestTextColor(t *testing.T) {
	golden(t, "color.txt", render.AppendText(nil, sample(t), render.Style{Color: true}))
}

// TestTextExplained: what was tried stands under the frame that it found; sources
// without an answer share a line, and a method that has an answer is not among them.
func TestTextExplained(t *testing.T) {
	r := sample(t)
	none := func(m unwind.Method) report.Attempt {
		return report.Attempt{Attempt: unwind.Attempt{Method: m, Verdict: unwind.NotCovered, Reason: "not covered"}}
	}
	rule := rule.Rule{CFA: rule.Register{Kind: rule.RegPlus, Base: o32(t).SP, Off: 32}, RA: rule.Register{Kind: rule.AtCFA, Off: -4}}
	taken := report.Keep(unwind.Attempt{Method: unwind.MethodCode, Rule: &rule, Arch: o32(t), Applied: true, Taken: true,
		PC: 0x400d34, CFA: 0x7fffe020, Checks: unwind.Executable | unwind.CallBefore, Trust: unwind.Certain})
	refused := report.Keep(unwind.Attempt{Method: unwind.MethodCode, Try: 1, Rule: &rule, Arch: o32(t), Reason: "memory was not captured"})
	r.Threads[0].Tried = [][]report.Attempt{
		nil, {none(unwind.MethodSigframe), none(unwind.MethodCode), none(unwind.MethodCFI), taken}, nil, nil, {none(unwind.MethodCFI), refused},
	}
	golden(t, "explained.txt", render.AppendText(nil, r, render.Style{Registers: true}))
	valid(t, render.AppendJSONLine(nil, r, render.Style{}))
}

// TestStackUsage: the outermost frame's size is not known; a listed frame may have no address.
func TestStackUsage(t *testing.T) {
	r := sample(t)
	last := &r.Threads[0].Frames[3]
	last.PC, last.CallSite, last.Method, last.Function = 0, 0, unwind.MethodPrewalked, "main"
	golden(t, "usage.txt", render.AppendText(nil, r, render.Style{StackUsage: true}))
	valid(t, render.AppendJSONLine(nil, r, render.Style{StackUsage: true}))
}

func TestJSON(t *testing.T) {
	golden(t, "report.json", render.AppendJSON(nil, sample(t), render.Style{Registers: true, Version: "v1"}))
}

// TestFailed: a line of a batch that could not be read has its line of output.
func TestFailed(t *testing.T) {
	r := &report.Report{Issues: []target.Issue{{Text: `a.jsonl: line 2: expected '"'`}}}
	const want = `{"status":"ERROR","backsight":{"version":"v1","capture":"a.jsonl","issues":["a.jsonl: line 2: expected '\"'"]}}` + "\n"
	if got := string(render.AppendJSONLine(nil, r, render.Style{Version: "v1", Capture: "a.jsonl"})); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// golden compares with a file of testdata; UPDATE=1 writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func valid(t testing.TB, line []byte) (doc map[string]any) {
	t.Helper()
	if err := json.Unmarshal(line, &doc); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if n := bytes.Count(line, []byte("\n")); n != 1 || line[len(line)-1] != '\n' {
		t.Errorf("%d line ends", n)
	}
	return doc
}

// hostile names: terminal escapes, C1 controls, text direction, line ends, bytes
// that are not UTF-8, JSON's own characters.
var hostile = []struct{ name, text, json string }{
	{"plain", "plain", "plain"},
	{"\x1b[2Jclear", `\x1b[2Jclear`, "\x1b[2Jclear"},
	{"bell\a\r\n#0", `bell\x07\x0d\x0a#0`, "bell\a\r\n#0"},
	{"csi\u009b31m", `csi\u009b31m`, "csi\u009b31m"},
	{"ad\u202emin\u2069", `ad\u202emin\u2069`, "ad\u202emin\u2069"},
	{"tag\U000e0041", `tag\udb40\udc41`, "tag\U000e0041"},
	{"soft\u200bspace\u2028", `soft\u200bspace\u2028`, "soft\u200bspace\u2028"},
	{"bad\xff\xc0utf", `bad\xff\xc0utf`, "bad\ufffd\ufffdutf"},
	{`quote"back\slash`, `quote"back\slash`, `quote"back\slash`},
	{"größe日本", "größe日本", "größe日本"},
	{"\x7f\x00", `\x7f\x00`, "\x7f\x00"},
}

func TestHostileNames(t *testing.T) {
	for _, h := range hostile {
		if got := typeset.Text(h.name); got != h.text {
			t.Errorf("Text(%q) = %s, want %s", h.name, got, h.text)
		}
		r := named(t, h.name)
		doc := valid(t, render.AppendJSONLine(nil, r, render.Style{}))
		thread := doc["threads"].([]any)[0].(map[string]any)
		frame := thread["frames"].([]any)[0].(map[string]any)
		for _, got := range []any{frame["function"], frame["file"], thread["thread_name"]} {
			if got != h.json {
				t.Errorf("JSON of %q reads back as %q, want %q", h.name, got, h.json)
			}
		}
		harmless(t, render.AppendText(nil, r, render.Style{Title: h.name}))
	}
}

// named has a name wherever one can be.
func named(t testing.TB, name string) *report.Report {
	r := sample(t)
	r.Issues = []target.Issue{{Text: name}}
	r.Threads[0].Thread.Name, r.Snapshot.Fault.Name, r.Snapshot.OS = name, name, name
	r.Snapshot.Modules[0].Name = name
	for i := range r.Threads[0].Frames {
		f := &r.Threads[0].Frames[i]
		if f.Function != "" {
			f.Function, f.File = name, name
		}
		for k := range f.Inlines {
			f.Inlines[k] = symbol.Inline{Function: name, File: name, Line: 1}
		}
	}
	return r
}

func harmless(t testing.TB, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	if i := strings.IndexFunc(string(text), func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e) }); i >= 0 {
		t.Errorf("a control character at %d of %q", i, text)
	}
}

func FuzzNames(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r := named(t, name)
		valid(t, render.AppendJSONLine(nil, r, render.Style{}))
		text := render.AppendText(nil, r, render.Style{Title: name})
		harmless(t, text)
		if got, want := bytes.Count(text, []byte("\n")), 8; got != want && name != "" {
			t.Errorf("%d lines, want %d: %q", got, want, text)
		}
	})
}

// BenchmarkJSONLine: a batch writes thousands of these a second.
func BenchmarkJSONLine(b *testing.B) {
	r := sample(b)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = render.AppendJSONLine(buf[:0], r, render.Style{})
	}
}

// TestOneOfSeveral: a guess that other functions' calls would fit as well says so.
func TestOneOfSeveral(t *testing.T) {
	r := sample(t)
	f := &r.Threads[0].Frames[1]
	f.Trust, f.Checks, f.Method = unwind.Guess, unwind.SeveralFit, unwind.MethodCode
	if got := string(render.AppendText(nil, r, render.Style{})); !strings.Contains(got, "[code?, one of several]") {
		t.Error(got)
	}
}
