package jitnames

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// replaced is the log of a run-time that at 20 makes a function where another one lay since 10, at 30 one over the end of a third, and at
// 40 moves a fourth.
func replaced() *dump {
	d := newDump(binary.LittleEndian)
	d.loadAt(10, 0x1000, 0x100, 1, "first", 0x11)
	d.loadAt(20, 0x1000, 0x80, 2, "second", 0x22)
	d.loadAt(10, 0x2000, 0x100, 3, "third", 0x33)
	d.loadAt(30, 0x20f0, 0x100, 4, "over", 0x44)
	d.loadAt(10, 0x3000, 0x100, 5, "alone", 0x55)
	d.record(codeMove, 40, 0, 0x3000, 0x3000, 0x1000, 0x100, 5)
	return d
}

// TestTimes: what lies at an address at a time. Of a function of which another one has taken a part nothing is left; what nothing else
// ever lay over lies there at all times; without a clock nothing else is known.
func TestTimes(t *testing.T) {
	list, _ := parseDump(t.Context(), "", replaced().bytes)
	c := newCode(list)
	for _, tt := range []struct {
		addr, time uint64
		want       string
	}{
		{0x1010, 5, ""}, {0x1010, 10, "first"}, {0x10f0, 19, "first"}, {0x1010, 20, "second"}, {0x10f0, 20, ""}, {0x1010, 40, "alone"},
		{0x2000, 29, "third"}, {0x2000, 30, ""}, {0x20f8, 30, "over"}, {0x2180, 5, ""}, {0x2180, 30, "over"},
		{0x3010, 5, "alone"}, {0x3010, 50, "alone"}, {0x3100, 50, ""}, {0xfff, 50, ""}, {0x80_0000, 50, ""},
		{0x1010, 0, ""}, {0x3010, 0, "alone"},
	} {
		got := c.at(tt.addr, tt.time)
		if tt.want == "" && got != nil || tt.want != "" && (got == nil || got.name != tt.want) {
			t.Errorf("%#x at %d: %+v, want %q", tt.addr, tt.time, got, tt.want)
		}
	}
	d := replaced()
	binary.LittleEndian.PutUint64(d.bytes[32:], archTimestamp)
	list, _ = parseDump(t.Context(), "", d.bytes)
	if f := newCode(list).at(0x1010, 50); f != nil {
		t.Errorf("by the processor's clock: %+v", f)
	}
}

// thread is a sample of a thread at a time, with these words on its stack, and PC.
func thread(arch *cpu.Arch, time, pc uint64, words ...uint64) target.Thread {
	t := target.Thread{Moment: &target.Moment{Time: time}, Memory: new(target.Memory)}
	var stack []byte
	for _, w := range words {
		stack = binary.LittleEndian.AppendUint64(stack, w)
	}
	const sp = 0x7000
	t.Regs.Set(arch.PC, pc)
	t.Regs.Set(arch.SP, sp)
	t.Memory.Hold(arch, sp, stack)
	return t
}

// logged is a folder with a log, and a source that knows it.
func logged(t *testing.T, d *dump) (*Source, *input.Files) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jit-7.dump"), d.bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	files := input.NewFiles(input.FileOptions{Sysroots: []string{dir}})
	t.Cleanup(func() { _ = files.Close() })
	s := new(Source)
	s.Mapped("/jit-7.dump")
	return s, files
}

// TestSplit: threads have the functions to which their words lead, at their times. A function is the same module in all snapshots; where
// functions differ at one place the snapshots do.
func TestSplit(t *testing.T) {
	arch := x86.Archs()[0]
	s, files := logged(t, replaced())
	file := &target.Module{Name: "/bin/app", Range: target.Range{Lo: 0x3000, Hi: 0x4000}}
	snap := &target.Snapshot{Arch: arch, PID: 7, Memory: new(target.Memory), Modules: []*target.Module{
		{Name: Anonymous, Range: target.Range{Lo: 0x1000, Hi: 0x3000}, Bias: 0x1000}, file}, Threads: []target.Thread{
		thread(arch, 12, 0x1010, 0x2100, 0x2000, 0x3010), // behind the third one's end a call returns, and none to its beginning
		thread(arch, 13, 0x2010),
		thread(arch, 25, 0x1010),
		thread(arch, 35, 0x20f0, 0x5000),
	}}
	room := budget.New("bytes", 0x1000+6*perFunction, 0)
	got := s.Split(t.Context(), files, snap, true, &room)
	want := []struct {
		threads int
		modules []target.Range
	}{
		{2, []target.Range{{Lo: 0x1000, Hi: 0x1100}, {Lo: 0x1100, Hi: 0x2000}, {Lo: 0x2000, Hi: 0x2100}, {Lo: 0x2100, Hi: 0x3000}, {Lo: 0x3000, Hi: 0x4000}}},
		{2, []target.Range{{Lo: 0x1000, Hi: 0x1080}, {Lo: 0x1080, Hi: 0x20f0}, {Lo: 0x20f0, Hi: 0x21f0}, {Lo: 0x21f0, Hi: 0x3000}, {Lo: 0x3000, Hi: 0x4000}}},
	}
	if len(got) != len(want) {
		t.Fatalf("%d snapshots", len(got))
	}
	for i, w := range want {
		if len(got[i].Threads) != w.threads || len(got[i].Modules) != len(w.modules) {
			t.Fatalf("%d: %d threads, modules %+v", i, len(got[i].Threads), got[i].Modules)
		}
		for k, m := range got[i].Modules {
			if m.Range != w.modules[k] || (m.Image != nil) != (k == 0 || k == 2) || k != 4 && !m.Anonymous() {
				t.Errorf("%d: module %d: %+v", i, k, m)
			}
		}
	}
	second := got[1].Modules[0]
	if sym, ok := second.Image.Symbols.At(0x1010); !ok || sym.Name != "second" || second.Image.Segments.Bytes(0x1000)[0] != 0x22 {
		t.Errorf("%+v", sym)
	}
	if again := s.Split(t.Context(), files, snap, true, &room); again[1].Modules[0] != second {
		t.Error("a function is another module each time")
	}
}

// TestRoom: what there is no room for is no module, and the snapshot goes on as before; so it does without a log.
func TestRoom(t *testing.T) {
	arch := x86.Archs()[0]
	s, files := logged(t, replaced())
	snap := &target.Snapshot{Arch: arch, PID: 7, Memory: new(target.Memory), Threads: []target.Thread{thread(arch, 25, 0x1010), thread(arch, 25, 0x3010)}}
	room := budget.New("bytes", 0x100+6*perFunction, 0)
	if got := s.Split(t.Context(), files, snap, true, &room); len(got) != 1 || len(got[0].Modules) != 1 {
		t.Errorf("%+v", got)
	}
	s, files = logged(t, replaced())
	room = budget.New("bytes", 5*perFunction, 0)
	if got := s.Split(t.Context(), files, snap, true, &room); len(got) != 1 || got[0] != snap {
		t.Errorf("without room for the functions: %+v", got)
	}
	if got := new(Source).Split(t.Context(), files, snap, true, &room); len(got) != 1 || got[0] != snap {
		t.Errorf("%+v", got)
	}
}

// TestImage: the image of a function has its name and bounds, its frames behind its code, and its lines, also where it was moved; a file's name that is
// none has no line.
func TestImage(t *testing.T) {
	for name, d := range map[string]*dump{"as the specification says": {}, "behind an ELF header": {bytes: make([]byte, elfHeader)}} {
		skew := len(d.bytes)
		*d = *newDump(binary.LittleEndian)
		d.record(codeDebug, 1, 0x1000, 3, 0x1000+skew, []byte{7, 0, 0, 0}, make([]byte, 4), "a.js", 0x1010+skew, []byte{9, 0, 0, 0}, make([]byte, 4), "\xff",
			0x1020+skew, []byte{9, 0, 0, 0}, make([]byte, 4), "\xb3\xdd")
		d.frames([]byte("frames"), []byte("hdr"))
		d.load(0x1000, 0x33, 1, "f")
		d.load(0x1100, 0x33, 2, "g")
		d.record(codeMove, 2, 0, 0, 0x1000, 0x2000, 0x33, 1)
		list, _ := parseDump(t.Context(), "", d.bytes)
		cut := func(p part) []byte { return d.bytes[p.off : p.off+p.size] }
		made := func(f *function) *image.Image {
			return f.module(x86.Archs()[0], cut(f.code), cut(f.frames), cut(f.lines)).Image
		}
		moved := made(list[2])
		if s, ok := moved.Sections.Named(".eh_frame"); !ok || s.Addr != 0x2038 || string(s.Data) != "frames" {
			t.Errorf("%s: %+v", name, s)
		}
		if _, ok := made(list[1]).Sections.Named(".eh_frame"); ok {
			t.Errorf("%s: the frames of another function", name)
		}
		if lo, hi, _, ok := moved.Symbols.FunctionAt(0x2010); lo != 0x2000 || hi != 0x2033 || !ok || !moved.Made {
			t.Errorf("%s: %#x to %#x", name, lo, hi)
		}
		for off, want := range map[uint64]int{0: 7, 0xf: 7, 0x10: 9, 0x20: 0} {
			if at, ok := moved.Debug.LineAt(0x2000 + off); ok != (want != 0) || ok && (at.File != "a.js" || at.Line != want) {
				t.Errorf("%s: %#x: %+v", name, off, at)
			}
		}
	}
}
