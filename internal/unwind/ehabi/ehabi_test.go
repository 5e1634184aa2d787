package ehabi

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/unwind"
)

const (
	textAt  = 0x0001_0000
	exidxAt = 0x0002_0000
	extabAt = 0x0003_0000
)

// tables is an image with code and these words of index and table. Entry k of the
// index is for the function at textAt + 0x100·k.
func tables(a *cpu.Arch, contents []uint32, extab ...uint32) *image.Image {
	idx, tab := synth.Stack(a), synth.Stack(a)
	for k, c := range contents {
		at := exidxAt + uint32(8*k)
		idx.Uint(uint64((textAt+0x100*uint32(k)-at)&^compact), 4)
		if c >= extabAt && c < extabAt+0x10000 {
			c = (c - at - 4) &^ compact
		}
		idx.Uint(uint64(c), 4)
	}
	for _, w := range extab {
		tab.Uint(uint64(w), 4)
	}
	i, t := idx.Place(exidxAt), tab.Place(extabAt)
	return image.New(image.Header{Arch: a, Tables: []image.Table{{Kind: image.ExIdx, Range: image.Range{Addr: exidxAt, Size: uint64(len(i.Data))}}}, Segments: []image.Segment{
		{Addr: textAt, Size: 0x1000, Data: make([]byte, 0x1000), Read: true, Exec: true},
		{Addr: exidxAt, Size: uint64(len(i.Data)), Data: i.Data, Read: true},
		{Addr: extabAt, Size: uint64(len(t.Data)), Data: t.Data, Read: true},
	}}, nil)
}

func ask(img *image.Image, pc uint64) (string, unwind.Verdict) {
	var r stackwalk.Rule
	r.Reset()
	v := Source{}.Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, &r)
	if v != unwind.Found {
		return "", v
	}
	return r.Format(img.Arch), v
}

func bigEndian() *cpu.Arch {
	for _, a := range arm.Archs() {
		if a.BigEndian {
			return a
		}
	}
	return nil
}

// The words are as GCC and Clang write them.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		name  string
		index uint32
		extab []uint32
		want  string
	}{
		{"leaf without a frame", 0x80b0b0b0, nil, "CFA=sp RA=lr"},
		{"push {r4, lr}", 0x80a8b0b0, nil, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{"push {r3, r4, r5, lr}", 0x80b108a9, nil, "CFA=sp+16 RA=[CFA-4] r3=[CFA-16] r4=[CFA-12] r5=[CFA-8]"},
		{"push {r4, lr}; sub sp, #40", 0x8009a8b0, nil, "CFA=sp+48 RA=[CFA-4] r4=[CFA-8]"},
		{"push {r4, r5}", 0x80a1b0b0, nil, "CFA=sp+8 RA=lr r4=[CFA-8] r5=[CFA-4]"},
		{"push {r7, lr} by mask", 0x808408b0, nil, "CFA=sp+8 RA=[CFA-4] r7=[CFA-8]"},
		{"frame pointer: add r7, sp, #0", 0x80978408, nil, "CFA=r7+8 RA=[CFA-4] r7=[CFA-8]"},
		{"vsp falls: vsp = r11; vsp -= 4; pop {r11, lr}", extabAt, []uint32{0x81019b40, 0x8480b0b0}, "CFA=r11+4 RA=[CFA-4] r11=[CFA-8]"},
		{"large frame", extabAt, []uint32{0x8101b281, 0x02a8b0b0}, "CFA=sp+1552 RA=[CFA-4] r4=[CFA-8]"},
		{"vpush {d8-d9}", extabAt, []uint32{0x8101d1a8, 0xb0b0b0b0}, "CFA=sp+24 RA=[CFA-4] r4=[CFA-8]"},
		{"vpush {d8-d9} by range, {d16}", extabAt, []uint32{0x8101c981, 0xc800b0b0}, "CFA=sp+24 RA=lr"},
		{"fstmfdx, iWMMXt", extabAt, []uint32{0x8102b801, 0xb381c1c6, 0xa1c703b0}, "CFA=sp+80 RA=lr"},
		{"authentication code: push {r7, r12, lr}", extabAt, []uint32{0x8101b484, 0x08b5b0b0}, "CFA=sp+12 RA=[CFA-4] r7=[CFA-8]"},
		{"APCS: pop {r11, sp, lr}", extabAt, []uint32{0x81019b42, 0x8680b0b0}, "CFA=[r11-8] RA=[r11-4] r11=[r11-12]"},
		{"vsp = a register popped before", extabAt, []uint32{0x8101a094, 0x00b0b0b0}, "CFA=[sp+0]+4 RA=lr r4=[sp+0]"},
		{"pop {r4, pc}", 0x808801b0, nil, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{"Lu32", extabAt, []uint32{0x8200a8b0, 0, 0}, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{"C++: personality, bytecodes behind it", extabAt, []uint32{0x7fff0000, 0x00a8b0b0}, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{"C++: more words", extabAt, []uint32{0x7fff0000, 0x0101d1a8, 0xb0b0b0b0}, "CFA=sp+32 RA=[CFA-4] r4=[CFA-8]"},
	} {
		for _, a := range []*cpu.Arch{arm.Archs()[0], bigEndian()} {
			got, v := ask(tables(a, []uint32{c.index}, c.extab...), textAt+0x10)
			if got != c.want {
				t.Errorf("%s: %v %s, want %s", c.name, v, got, c.want)
			}
		}
	}
}

// TestDeclines: entries that unwind nothing, and codes that are not supported, give no rule.
func TestDeclines(t *testing.T) {
	for _, c := range []struct {
		name  string
		index uint32
		extab []uint32
		want  unwind.Verdict
	}{
		{"EXIDX_CANTUNWIND", cantUnwind, nil, unwind.NotCovered},
		{"refuse to unwind", 0x808000b0, nil, unwind.NotCovered},
		{"vsp = sp", 0x809db0b0, nil, unwind.Unsupported},
		{"vsp = pc", 0x809fb0b0, nil, unwind.Unsupported},
		{"spare b1", 0x80b110b0, nil, unwind.Unsupported},
		{"spare b7", 0x80b7b0b0, nil, unwind.Unsupported},
		{"spare c7", 0x80c700b0, nil, unwind.Unsupported},
		{"spare ca", 0x80cab0b0, nil, unwind.Unsupported},
		{"spare d8", 0x80d8b0b0, nil, unwind.Unsupported},
		{"spare ff", 0x80ffb0b0, nil, unwind.Unsupported},
		{"pop behind pop {sp}", extabAt, []uint32{0x81018200, 0xa8b0b0b0}, unwind.Unsupported},
		{"unknown personality index", 0x83a8b0b0, nil, unwind.Unsupported},
		{"signal context: pop {r0-r3}; pop {r4-r15}", extabAt, []uint32{0x810107b1, 0x0f8fffb0}, unwind.Unsupported},
		{"table outside the image", extabAt + 0x1000, nil, unwind.Malformed},
		{"table cut off", extabAt, []uint32{0x8101d1a8}, unwind.Malformed},
		{"personality without data", extabAt, []uint32{0x7fff0000}, unwind.Malformed},
	} {
		if _, v := ask(tables(arm.Archs()[0], []uint32{c.index}, c.extab...), textAt); v != c.want {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
		}
	}
}

// TestSearch: an entry of the index covers the code up to the next entry.
func TestSearch(t *testing.T) {
	img := tables(arm.Archs()[0], []uint32{0x80a8b0b0, cantUnwind, 0x80b0b0b0})
	for _, c := range []struct {
		pc   uint64
		want string
	}{
		{textAt - 4, ""},
		{textAt, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{textAt + 0xfe, "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]"},
		{textAt + 0x100, ""},
		{textAt + 0x200, "CFA=sp RA=lr"},
		{textAt + 0xfff, "CFA=sp RA=lr"},
	} {
		if got, v := ask(img, c.pc); got != c.want {
			t.Errorf("%#x: %v %s, want %s", c.pc, v, got, c.want)
		}
	}
	if _, v := ask(tables(arm.Archs()[0], nil), textAt); v != unwind.NotCovered {
		t.Error("no table:", v)
	}
}

// The table knows nothing of prologues, so in an exact frame it only hints; but where a function begins, nothing is done yet.
func TestExactFrame(t *testing.T) {
	img := tables(arm.Archs()[0], []uint32{0x80a8b0b0})
	var r stackwalk.Rule
	r.Reset()
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: textAt + 4, Exact: true}
	if v := (Source{}).Rule(&q, &r); v != unwind.Found || r.Flags&stackwalk.Fallback == 0 {
		t.Error(v, r.Flags)
	}
	r.Reset()
	q.PC = textAt
	if v := (Source{}).Rule(&q, &r); v != unwind.Found || r.Flags&stackwalk.Fallback != 0 || r.Format(img.Arch) != "CFA=sp RA=lr" {
		t.Error("where the function begins:", v, r.Format(img.Arch))
	}
	q.Try = 1
	if v := (Source{}).Rule(&q, &r); v != unwind.NotCovered {
		t.Error("second answer:", v)
	}
}

func TestRuleAllocatesNothing(t *testing.T) {
	img := tables(arm.Archs()[0], []uint32{extabAt}, 0x8101d1a8, 0xb0b0b0b0)
	var source stackwalk.RuleSource = Source{}
	q, r := &stackwalk.Query{Image: img, Arch: img.Arch, PC: textAt}, new(stackwalk.Rule)
	if n := testing.AllocsPerRun(100, func() { r.Reset(); source.Rule(q, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRule(f *testing.F) {
	f.Add(uint32(0x80b108a9), uint32(0), uint32(0), uint64(textAt), false)
	f.Add(uint32(extabAt), uint32(0x81ffb281), uint32(0x828384b0), uint64(textAt), true)
	f.Add(uint32(extabAt), uint32(0x7fff0000), uint32(0x01a8b0b0), ^uint64(0), false)
	f.Fuzz(func(t *testing.T, content, w0, w1 uint32, pc uint64, big bool) {
		a := arm.Archs()[0]
		if big {
			a = bigEndian()
		}
		ask(tables(a, []uint32{content, w0}, w0, w1, content), pc)
	})
}
