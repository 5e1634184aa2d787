package table_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

// libc is a C library of x86-64 with an .eh_frame.
func libc(t testing.TB) string {
	return recorded.Testdata(t, "x86_64-threads/modules/usr/lib/libc.so.6")
}

// files are images with tables of their own and without: one of each processor.
func files(t testing.TB) map[string]string {
	list := map[string]string{"libc": libc(t)}
	for _, c := range recorded.Cases(t, "*/*") {
		for _, tier := range []string{"stripped", "naked"} {
			if list[c.Arch+"/"+tier] != "" {
				continue
			}
			if path, ok := recorded.Program(t, &c, tier); ok {
				list[c.Arch+"/"+tier] = path
			}
		}
	}
	return list
}

func open(t testing.TB, path string) *image.Image {
	t.Helper()
	img, err := elf.Open(path, image.Options{Archs: captured.Archs(), NoDebugFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = img.Close() })
	return img
}

// sources are those that tables are compiled from, in order, and the parts.
func sources() (srcs []stackwalk.RuleSource, parts []table.Part) {
	tables := cfi.New()
	analysis := code.New(&discover.Tables{Functions: tables.FunctionRanges})
	return []stackwalk.RuleSource{tables, ehabi.Source{}, analysis}, []table.Part{
		table.Listed(unwind.MethodCFI, tables.Rows),
		table.Listed(unwind.MethodEHABI, ehabi.Source{}.Rows),
		{Method: unwind.MethodCode, List: analysis.Rows},
	}
}

// fromCFI is the table of an image's .eh_frame.
func fromCFI(img *image.Image) *table.Table {
	return table.Build(img, table.Listed(unwind.MethodCFI, cfi.New().Rows))
}

// TestTableSaysWhatSourcesSay at places all over the code: where a row is of a
// source, that source gives the very same rule, with what it knows besides.
func TestTableSaysWhatSourcesSay(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for name, path := range files(t) {
		t.Run(name, func(t *testing.T) {
			img := open(t, path)
			srcs, parts := sources()
			tab := table.Build(img, parts...)
			var tally [16]int
			eachPlace(img, func(q *stackwalk.Query) {
				for _, src := range srcs {
					var asked, got stackwalk.Rule
					spy := &spy{RuleSource: src}
					if table.Before(spy, func(*image.Image) *table.Table { return tab }).Rule(q, &got) != unwind.Found || spy.asked {
						continue
					}
					tally[src.Method()]++
					if v := src.Rule(q, &asked); v != unwind.Found || !same(img.Arch, &got, &asked) {
						t.Fatalf("%#x %+v: %s %x, %v says %v %s %x", q.PC, *q, got.Format(img.Arch), got.Flags, src.Method(), v, asked.Format(img.Arch), asked.Flags)
					}
				}
			})
			n := tally[unwind.MethodCFI] + tally[unwind.MethodEHABI] + tally[unwind.MethodCode]
			if n == 0 {
				t.Error("no place has a row")
			}
			t.Logf("%+v; places by cfi %d, ehabi %d, code %d", tab.Stats(), tally[unwind.MethodCFI], tally[unwind.MethodEHABI], tally[unwind.MethodCode])
		})
	}
}

// same tells whether two rules do the same, and whether as much is known of them.
func same(arch *cpu.Arch, a, b *stackwalk.Rule) bool {
	if a.RA.Kind == stackwalk.Undefined && b.RA.Kind == stackwalk.Undefined {
		return true
	}
	stated := a.Flags&stackwalk.StartStated == 0 || a.Start == b.Start
	x, ok := packed.Of(arch, b)
	y, ok2 := packed.Of(arch, a)
	return ok && ok2 && x == y && a.Flags == b.Flags && stated
}

// spy notes whether a source was asked.
type spy struct {
	stackwalk.RuleSource
	asked bool
}

func (s *spy) Rule(*stackwalk.Query, *stackwalk.Rule) unwind.Verdict {
	s.asked = true
	return unwind.NotCovered
}

// eachPlace visits instructions and calls, some thousand of an image: those that a
// decoder finds behind places that are spread over the code.
func eachPlace(img *image.Image, visit func(q *stackwalk.Query)) {
	var buf [8]cpu.Insn
	for i := range img.Segments {
		s := &img.Segments[i]
		if !s.Exec {
			continue
		}
		step := max(uint64(len(s.Data))/1500, 64) &^ 3
		for off := uint64(0); off < uint64(len(s.Data)); off += step {
			for mode := range cpu.Mode(2) {
				if mode == 1 && !img.Arch.ISABit {
					break
				}
				pc := s.Addr + off
				n := img.Arch.Decoder.Decode(s.Data[off:], pc, mode, buf[:])
				for i := range n {
					step := stepping.StepOf(buf[i:n], pc)
					visit(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Mode: mode, Exact: true})
					pc += uint64(step.In.Len)
					if step.In.Op == cpu.OpCall && !step.Waits() {
						visit(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc - 1, Resume: pc, Mode: mode})
					}
				}
			}
		}
	}
}

// TestFile: a file gives the table back, and whatever is wrong with one is said.
func TestFile(t *testing.T) {
	img := open(t, libc(t))
	tab := fromCFI(img)
	b := tab.Append(nil, img)
	again, err := table.Open(b, img)
	if err != nil || again.Stats() != tab.Stats() || tab.Stats().Bytes != len(b) {
		t.Fatalf("%v, %+v, want %+v of %d bytes", err, again.Stats(), tab.Stats(), len(b))
	}
	var x, y table.Row
	for pc := range uint64(1 << 18) {
		if v, w := tab.Lookup(pc, &x), again.Lookup(pc, &y); v != w || x != y {
			t.Fatalf("%#x: %v %v, from the file %v %v", pc, v, x, w, y)
		}
	}
	head := img.Header
	head.BuildID = []byte("other")
	other := image.New(head, nil)
	flipped := bytes.Clone(b)
	flipped[1000] ^= 1
	for _, c := range []struct {
		name   string
		file   []byte
		img    *image.Image
		offset int
	}{
		{"another build", b, other, 40},
		{"another version", append([]byte("bsTable\x01"), b[8:]...), img, 7},
		{"cut short", b[:len(b)-1], img, len(b) - 1},
		{"cut within the header", b[:50], img, 50},
		{"too long", append(bytes.Clone(b), 0), img, len(b)},
		{"a bit flipped", flipped, img, 8},
		{"something else", []byte("\x7fELF and so on"), img, 0},
		{"empty", nil, img, 0},
	} {
		_, err := table.Open(c.file, c.img)
		if e := (*image.Error)(nil); !errors.As(err, &e) || e.Offset != int64(c.offset) {
			t.Errorf("%s: %v, want offset %#x", c.name, err, c.offset)
		}
	}
}

// TestKey: an image without a build ID has the table of what is loaded where, whatever
// its file is called; each of these changes makes it another's.
func TestKey(t *testing.T) {
	made := func(change func(h *image.Header, s *image.Segment)) *image.Image {
		s := image.Segment{Addr: 0x1000, Size: 0x40, Data: []byte("code and data"), Exec: true}
		h := image.Header{Path: "firmware", Arch: x86.Archs()[0]}
		change(&h, &s)
		h.Segments = []image.Segment{s}
		return image.New(h, nil)
	}
	img := made(func(*image.Header, *image.Segment) {})
	b := fromCFI(img).Append(nil, img)
	for name, c := range map[string]struct {
		change func(h *image.Header, s *image.Segment)
		same   bool
	}{
		"another name":    {func(h *image.Header, _ *image.Segment) { h.Path = "copy" }, true},
		"a byte":          {func(_ *image.Header, s *image.Segment) { s.Data = []byte("code and dada") }, false},
		"another address": {func(_ *image.Header, s *image.Segment) { s.Addr = 0x2000 }, false},
		"no code":         {func(_ *image.Header, s *image.Segment) { s.Exec = false }, false},
		"another entry":   {func(h *image.Header, _ *image.Segment) { h.Entry = 0x1000 }, false},
		"another ABI":     {func(h *image.Header, _ *image.Segment) { h.Arch = x86.Archs()[1] }, false},
		"a build ID":      {func(h *image.Header, _ *image.Segment) { h.BuildID = []byte("id") }, false},
	} {
		if _, err := table.Open(b, made(c.change)); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLayout: rows at the edges of pages and groups, gaps, rare rules, functions.
func TestLayout(t *testing.T) {
	arch := x86.Archs()[0]
	img := image.New(image.Header{Arch: arch, BuildID: []byte{1}}, nil)
	rule := func(size int64, start uint64) *stackwalk.Rule {
		r := &stackwalk.Rule{Flags: stackwalk.StartStated, Start: start}
		r.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: arch.SP, Off: size}
		r.RA = stackwalk.RegRule{Kind: stackwalk.AtCFA, Off: -8}
		return r
	}
	type row struct {
		lo, hi uint64
		rule   *stackwalk.Rule
	}
	rows := []row{{0x10ff, 0x1100, rule(8, 0x10ff)}, {0x1100, 0x1101, rule(16, 0x10ff)}, {0x1ffff, 0x20000, rule(8, 0x1ffff)},
		{0x20000, 0x90000, rule(16, 0x1ffff)}, {0x90001, 0x90002, nil}, {1 << 40, 1<<40 + 1, rule(8, 1<<40)}}
	for i := range uint64(300) {
		rows = append(rows, row{1<<41 + i, 1<<41 + i + 1, rule(int64(16+8*i), 1<<41)})
	}
	tab := table.Build(img, table.Listed(unwind.MethodCFI, func(_ *image.Image, yield func(lo, hi uint64, r *stackwalk.Rule) bool) {
		for _, r := range rows {
			yield(r.lo, r.hi, r.rule)
		}
	}))
	for _, r := range rows {
		for _, pc := range []uint64{r.lo, (r.lo + r.hi) / 2, r.hi - 1} {
			checkRow(t, tab, pc, r.rule)
		}
	}
	for _, pc := range []uint64{0, 0x10fe, 0x1101, 0x1fffe, 0x90000, 0x90002, 1<<40 - 1, 1<<40 + 1, 1<<41 + 300, 1 << 60} {
		var got table.Row
		if v := tab.Lookup(pc, &got); v != unwind.NotCovered {
			t.Errorf("%#x: %v", pc, v)
		}
	}
}

func checkRow(t *testing.T, tab *table.Table, pc uint64, want *stackwalk.Rule) {
	t.Helper()
	var got table.Row
	v := tab.Lookup(pc, &got)
	if want == nil {
		if v != unwind.Unsupported {
			t.Errorf("%#x: %v", pc, v)
		}
		return
	}
	p, _ := packed.Of(x86.Archs()[0], want)
	if v != unwind.Found || got.Rule != p || got.Start != want.Start {
		t.Errorf("%#x: %v %+v, want %+v", pc, v, got, *want)
	}
}

// FuzzOpen: whatever a file says, looking things up stays within it. The checksum is
// made right, or hardly any input would come further.
func FuzzOpen(f *testing.F) {
	img := image.New(image.Header{Arch: x86.Archs()[0], BuildID: []byte{1, 2, 3}}, nil)
	rule := stackwalk.Rule{RA: stackwalk.RegRule{Kind: stackwalk.Undefined}, Flags: stackwalk.StartStated}
	tab := table.Build(img, table.Listed(unwind.MethodCFI, func(_ *image.Image, yield func(lo, hi uint64, r *stackwalk.Rule) bool) {
		for pc := uint64(0x1000); pc < 0x40000; pc += 0x800 {
			rule.Start = pc
			yield(pc, pc+0x700, &rule)
		}
	}))
	f.Add(tab.Append(nil, img), uint64(0x1234))
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		if len(b) >= 12 {
			binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], crc32.MakeTable(crc32.Castagnoli)))
		}
		tab, err := table.Open(b, img)
		if (err == nil) != (tab != nil) {
			t.Fatalf("%v, but the table is %v", err, tab)
		}
		if err != nil {
			return
		}
		var row table.Row
		if tab.Lookup(pc, &row) == unwind.Found {
			var r stackwalk.Rule
			row.Rule.Unpack(img.Arch, &r)
		}
	})
}
