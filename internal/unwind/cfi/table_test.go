package cfi_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// three functions of 16 bytes with CFA rsp+8, rsp+16 and rsp+24, in the order
// 2, 0, 1 in the section.
func threeFunctions() []byte {
	f := func(i uint64, cfa byte) fdeText {
		return fdeText{start: textAddr + 16*i, size: 16, code: code{0x0e, cfa}}
	}
	return (cieText{version: 1, ra: 16, code: onEntry}).assemble(8, f(2, 24), f(0, 8), f(1, 16))
}

// Where threeFunctions has its FDEs: the CIE has 18 bytes, each FDE 26.
const fde2, fde0, fde1 = 18, 44, 70

type entryOfHeader struct{ start, fde uint64 }

// header assembles an .eh_frame_hdr with a table.
func headerOf(version, countEnc, tableEnc byte, count uint64, entries ...entryOfHeader) []byte {
	b := join(code{version, 0x1b, countEnc, tableEnc}, le4(1<<32-(headerAddr+4-frameAddr)), le4(count))
	for _, e := range entries {
		b = join(b, le4(e.start-headerAddr), le4(frameAddr+e.fde-headerAddr))
	}
	return b
}

// TestHeader: a damaged index never gives a wrong answer, and what it does not
// find is looked for in the section.
func TestHeader(t *testing.T) {
	a, b, c := entryOfHeader{textAddr, fde0}, entryOfHeader{textAddr + 16, fde1}, entryOfHeader{textAddr + 32, fde2}
	nonsense := entryOfHeader{textAddr + 16, 3}
	for _, h := range []struct {
		name   string
		header []byte
	}{
		{"sorted", headerOf(1, 0x03, 0x3b, 3, a, b, c)},
		{"missing", nil},
		{"other version", headerOf(2, 0x03, 0x3b, 3, a, b, c)},
		{"no table", headerOf(1, 0xff, 0xff, 0)},
		{"table in another encoding", headerOf(1, 0x03, 0x3c, 3, a, b, c)},
		{"unsorted", headerOf(1, 0x03, 0x3b, 3, c, b, a)},
		{"starts swapped", headerOf(1, 0x03, 0x3b, 3, entryOfHeader{textAddr, fde1}, entryOfHeader{textAddr + 16, fde0}, nonsense)},
		{"points nowhere", headerOf(1, 0x03, 0x3b, 3, a, entryOfHeader{textAddr + 16, 1 << 20}, c)},
		{"count beyond the end", headerOf(1, 0x03, 0x3b, 0xffff_ffff, a, b, c)},
		{"cut", headerOf(1, 0x03, 0x3b, 3, a, b, c)[:5]},
	} {
		t.Run(h.name, func(t *testing.T) {
			list := []image.Section{{Name: ".eh_frame", Data: threeFunctions()}}
			if h.header != nil {
				list = append(list, image.Section{Name: ".eh_frame_hdr", Data: h.header})
			}
			img := imageOf(archNamed(t, "x86_64", "", false), list...)
			for i := range uint64(3) {
				want := fmt.Sprintf("CFA=rsp+%d RA=[CFA-8]", 8+8*i)
				if got := ask(img, textAddr+16*i+5); got != want {
					t.Errorf("function %d: %s, want %s", i, got, want)
				}
			}
			for _, pc := range []uint64{0, textAddr - 1, textAddr + 48, ^uint64(0)} {
				if got := ask(img, pc); got != "not covered" {
					t.Errorf("%#x: %s", pc, got)
				}
			}
		})
	}
}

// TestHeaderAlone: files without section headers; .eh_frame is where the header
// says and ends with a zero length, here before something else.
func TestHeaderAlone(t *testing.T) {
	frames := join(threeFunctions(), le4(0), code("not frames at all, whatever follows"))
	for _, h := range [][]byte{headerOf(1, 0x03, 0x3b, 1, entryOfHeader{textAddr, fde0}), headerOf(1, 0xff, 0xff, 0)} {
		arch := archNamed(t, "x86_64", "", false)
		with := imageOf(arch, image.Section{Name: ".eh_frame", Data: frames}, image.Section{Name: ".eh_frame_hdr", Data: h})
		img := image.New(with.Header, nil)
		if got := ask(img, textAddr+5); got != "CFA=rsp+8 RA=[CFA-8]" {
			t.Error(got)
		}
		if got := ask(img, textAddr+100); got != "not covered" {
			t.Error(got)
		}
	}
}

// TestDiscarded: FDEs of functions that the linker threw away cover nothing.
func TestDiscarded(t *testing.T) {
	cie := cieText{version: 1, ra: 16, code: onEntry, debug: true}
	frames := cie.assemble(8,
		fdeText{start: 0, size: 0x20000},
		fdeText{start: textAddr + 8, size: 0},
		fdeText{start: ^uint64(0) - 7, size: 0x20000}, // wraps
		fdeText{start: frameAddr, size: 16},           // not code
		fdeText{start: textAddr, size: 16, code: code{0x0e, 16}},
	)
	img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".debug_frame", Data: frames})
	for pc, want := range map[uint64]string{
		textAddr + 8: "CFA=rsp+16 RA=[CFA-8]", textAddr + 16: "not covered", 8: "not covered", frameAddr: "not covered",
	} {
		if got := ask(img, pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
}

// TestCodeAtZero: in firmware, address 0 is code. Several FDEs there are those of
// discarded functions, and one is the true one.
func TestCodeAtZero(t *testing.T) {
	cie := cieText{version: 1, ra: 14, code: code{0x0d, 13}, debug: true}
	for n, want := range map[int]string{1: "CFA=sp RA=lr", 2: "not covered", 3: "not covered"} {
		frames := cie.assemble(4, slices.Repeat([]fdeText{{start: 0, size: 16}}, n)...)
		img := image.New(image.Header{
			Arch:     archNamed(t, "arm", "", false),
			Segments: []image.Segment{{Addr: 0, Size: 0x1000, Data: make([]byte, 0x1000), Exec: true}},
		}, sections{list: []image.Section{{Name: ".debug_frame", Data: frames}}})
		if got := ask(img, 4); got != want {
			t.Errorf("%d FDEs at 0: %s, want %s", n, got, want)
		}
	}
}

// TestBothSections: .debug_frame knows what .eh_frame does not.
func TestBothSections(t *testing.T) {
	eh := cieText{version: 1, ra: 16, code: onEntry}
	debug := cieText{version: 3, ra: 16, code: onEntry, debug: true}
	img := imageOf(archNamed(t, "x86_64", "", false),
		image.Section{Name: ".eh_frame", Data: eh.assemble(8, fdeText{start: textAddr, size: 16})},
		image.Section{Name: ".debug_frame", Data: debug.assemble(8,
			fdeText{start: textAddr, size: 16, code: code{0x0e, 99}}, fdeText{start: textAddr + 16, size: 16, code: code{0x0e, 16}})})
	for pc, want := range map[uint64]string{textAddr: "CFA=rsp+8 RA=[CFA-8]", textAddr + 16: "CFA=rsp+16 RA=[CFA-8]"} {
		if got := ask(img, pc); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
	var ranges []uint64
	cfi.New().FunctionRanges(img, func(lo, hi uint64) bool {
		ranges = append(ranges, lo-textAddr, hi-textAddr)
		return true
	})
	if want := []uint64{0, 16, 16, 32}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %v, want %v", ranges, want)
	}
	n := 0
	cfi.New().FunctionRanges(img, func(lo, hi uint64) bool { n++; return false })
	if n != 1 {
		t.Errorf("%d ranges after the first was enough", n)
	}
}

// TestDescriptionsOfSeveral: a large description that begins as no function does lists no function. A small one may be a part
// that was split off a function.
func TestDescriptionsOfSeveral(t *testing.T) {
	for size, want := range map[uint64]string{8 << 10: "[rsp+8]", 1 << 10: "[rsp+8 rbp+16]"} {
		frames := cieText{version: 1, ra: 16, code: onEntry}.assemble(8, fdeText{start: textAddr, size: size},
			fdeText{start: textAddr + size, size: size, code: code{0x0c, 6, 16}})
		img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames})
		var listed []string
		cfi.New().Functions(img, func(lo, _ uint64) bool {
			listed = append(listed, strings.TrimPrefix(strings.Fields(ask(img, lo))[0], "CFA="))
			return true
		})
		if fmt.Sprint(listed) != want {
			t.Errorf("%d bytes each: %v, want %s", size, listed, want)
		}
	}
}

// TestFunctionAt: .eh_frame_hdr tells of one place what Functions tells of all. Without it, and where a description is of several
// functions, only the list does.
func TestFunctionAt(t *testing.T) {
	arch := archNamed(t, "x86_64", "", false)
	hdr := headerOf(1, 0x03, 0x3b, 3, entryOfHeader{textAddr, fde0}, entryOfHeader{textAddr + 16, fde1}, entryOfHeader{textAddr + 32, fde2})
	frames := image.Section{Name: ".eh_frame", Data: threeFunctions()}
	img := imageOf(arch, frames, image.Section{Name: ".eh_frame_hdr", Data: hdr})
	for pc, want := range map[uint64]image.Range{
		textAddr - 1:  {Size: textAddr},
		textAddr:      {Addr: textAddr, Size: 16},
		textAddr + 31: {Addr: textAddr + 16, Size: 16},
		textAddr + 48: {Addr: textAddr + 48, Size: ^uint64(textAddr + 48)},
	} {
		lo, hi, ok := cfi.New().FunctionAt(img)(pc)
		if lo != want.Addr || hi-lo != want.Size || ok != (want.Size == 16) {
			t.Errorf("%#x: %#x to %#x, %t", pc, lo, hi, ok)
		}
	}
	if cfi.New().FunctionAt(imageOf(arch, frames)) != nil {
		t.Error("a search without an index")
	}
	several := cieText{version: 1, ra: 16, code: onEntry}.assemble(8, fdeText{start: textAddr, size: 8 << 10, code: code{0x0c, 6, 16}})
	hdr = headerOf(1, 0x03, 0x3b, 1, entryOfHeader{textAddr, 18})
	img = imageOf(arch, image.Section{Name: ".eh_frame", Data: several}, image.Section{Name: ".eh_frame_hdr", Data: hdr})
	if lo, hi, ok := cfi.New().FunctionAt(img)(textAddr + 8); hi != 0 {
		t.Errorf("several functions are one of %#x to %#x, %t", lo, hi, ok)
	}
}

// TestDamagedEntries: an entry that cannot be read hides neither its neighbours
// nor the fact.
func TestDamagedEntries(t *testing.T) {
	frames := threeFunctions()
	copy(frames[fde0+4:], le4(fde0+4-2)) // function 0 points into the middle of the CIE
	img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames})
	for i, want := range []string{"malformed", "CFA=rsp+16 RA=[CFA-8]", "CFA=rsp+24 RA=[CFA-8]"} {
		if got := ask(img, textAddr+16*uint64(i)); got != want {
			t.Errorf("function %d: %s, want %s", i, got, want)
		}
	}
}

// TestSecondTry: there is one answer per place.
func TestSecondTry(t *testing.T) {
	img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: threeFunctions()})
	var rule stackwalk.Rule
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: textAddr, Try: 1}
	if v := cfi.New().Rule(&q, &rule); v != unwind.NotCovered {
		t.Error(v)
	}
}

// FuzzRule asks for rules in arbitrary bytes, with and without an index, and
// checks what every answer promises.
func FuzzRule(f *testing.F) {
	three := threeFunctions()
	f.Add(three, headerOf(1, 0x03, 0x3b, 1, entryOfHeader{textAddr, fde0}), uint32(5))
	f.Add(three, []byte{}, uint32(40))
	cie := cieText{version: 1, aug: "zPLRS", augData: join(code{0x9b}, le4(1), code{0x1b, 0x03}), ra: 16, code: onEntry}
	f.Add(cie.assemble(8, fdeText{head: join(le4(textAddr), le4(64)), aug: le4(1), code: code{0x0a, 0x0f, 2, 0x77, 8, 0x10, 3, 1, 0x30, 0x44, 0x0b, 0xc3}}), []byte{}, uint32(3))
	wide := cieText{version: 4, extra: code{8, 0}, ra: 16, code: onEntry, debug: true, wide: true}
	f.Add(wide.assemble(8, fdeText{start: textAddr, size: 16}), []byte{}, uint32(0))
	arch := archNamed(f, "x86_64", "", false)
	f.Fuzz(func(t *testing.T, frames, hdr []byte, off uint32) {
		for _, name := range []string{".eh_frame", ".debug_frame"} {
			img := imageOf(arch, image.Section{Name: name, Data: frames}, image.Section{Name: ".eh_frame_hdr", Data: hdr})
			var rule stackwalk.Rule
			for _, pc := range []uint64{textAddr + uint64(off), textAddr} {
				if v := cfi.New().Rule(&stackwalk.Query{Image: img, Arch: arch, PC: pc}, &rule); v == unwind.Found {
					_ = rule.Format(arch)
					if rule.N > len(rule.Regs) {
						t.Fatalf("%d rules", rule.N)
					}
				}
			}
			cfi.New().FunctionRanges(img, func(lo, hi uint64) bool {
				if lo == hi || !img.Segments.Executable(lo) {
					t.Fatalf("range %#x to %#x", lo, hi)
				}
				return true
			})
		}
	})
}

// TestConcurrentUse asks for the first time from several goroutines at once.
func TestConcurrentUse(t *testing.T) {
	img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: threeFunctions()})
	var wg sync.WaitGroup
	for i := range uint64(12) {
		wg.Go(func() {
			want := fmt.Sprintf("CFA=rsp+%d RA=[CFA-8]", 8+8*(i%3))
			if got := ask(img, textAddr+16*(i%3)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	wg.Wait()
}
