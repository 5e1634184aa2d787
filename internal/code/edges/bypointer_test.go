package edges

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// exported is a kernel in small: write is in a table of functions; check is called and jumped to by
// verify, which is in the table of exports only; open is built by code; hidden is in no table, and
// stays unknown where a function that is in one jumps there.
var exported = codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <write>:
	400020 <check>:
	400040 <verify>:
	400060 <open>:
	400080 <start>:
	4000a0 <last>:
		400000: 03e00008  jr    ra
		400004: 00000000  nop
		400020: 03e00008  jr    ra
		400024: 00000000  nop
		400040: 08100008  j     400020
		400044: 00000000  nop
		400060: 03e00008  jr    ra
		400064: 00000000  nop
		400080: 27bdffe8  addiu sp,sp,-24
		400084: afbf0014  sw    ra,20(sp)
		400088: 3c020040  lui   v0,0x40
		40008c: 24420060  addiu v0,v0,0x60
		400090: 0c100008  jal   400020
		400094: 00000000  nop
		400098: 1000ffff  b     400098
		40009c: 00000000  nop
		4000a0: 03e00008  jr    ra
		4000a4: 00000000  nop`,
	Data: map[uint64][]uint64{
		0x410000: {0, 0x400000, 0},             // file_operations: write
		0x410020: {0x400040, 0x410030, 0},      // kernel_symbol: verify, its name, no namespace
		0x410030: {0x76657269, 0x66790000, 0}}} // "verify"

// TestCalledByPointer: a pointer leads to functions whose address data or code holds, or that such
// functions jump to. The table of exports is for the loader of modules.
func TestCalledByPointer(t *testing.T) {
	img := exported.Image(t)
	m := &target.Module{Image: img, Bias: 0x1000_0000}
	for name, c := range map[string]struct {
		pc   uint64
		want stackwalk.Answer
	}{
		"in a table":                              {0x400004, stackwalk.Yes},
		"jumped to by what is exported only":      {0x400024, stackwalk.No},
		"exported only":                           {0x400044, stackwalk.No},
		"built by code":                           {0x400064, stackwalk.Yes},
		"nobody points there":                     {0x400098, stackwalk.No},
		"outside of the code nothing is known of": {0x300000, stackwalk.Unknown},
	} {
		if got := New(nil).CalledByPointer(m, c.pc+m.Bias, 0); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := New(nil).CalledByPointer(nil, 0x400000, 0); got != stackwalk.Unknown {
		t.Errorf("without a module: %v", got)
	}
}

// TestPointedFromAfar: an address counts whose halves stand apart, one in the delay slot of a branch.
func TestPointedFromAfar(t *testing.T) {
	m := &target.Module{Image: driver.Image(t)}
	if got := New(nil).CalledByPointer(m, 0x400018, 0); got != stackwalk.Yes {
		t.Errorf("mid: %v", got)
	}
}

// TestCalledByPointerElsewhere: a kernel that has not relocated itself holds no pointers, so that
// nothing follows from none being found.
func TestCalledByPointerElsewhere(t *testing.T) {
	p := exported
	p.Data = map[uint64][]uint64{0x410000: {0, 0, 0}}
	m := &target.Module{Image: p.Image(t)}
	if got := New(nil).CalledByPointer(m, 0x400024, 0); got != stackwalk.Unknown {
		t.Errorf("%v, want unknown", got)
	}
}

// withList is a container with a section that lists functions.
type withList struct {
	image.Container
	section string
}

func (l withList) Section(name string) (image.Section, bool) {
	return image.Section{Addr: 0x420000, Data: make([]byte, 16)}, name == l.section
}

// TestCalledByPointerPatched: a tracer's nops stand first in each function, and tables say that the
// function begins behind them. Pointers lead to the nops; the list of all such nops is none.
func TestCalledByPointerPatched(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: `
	400000 <first>:
	400020 <second>:
		400000: d503201f  nop
		400004: d503201f  nop
		400008: d65f03c0  ret
		400020: d503201f  nop
		400024: d503201f  nop
		400028: d65f03c0  ret`,
		Data: map[uint64][]uint64{0x410000: {0x400000}, 0x420000: {0x400000, 0x400020}}}.Image(t)
	m := &target.Module{Image: image.New(img.Header, withList{img.Container(), "__patchable_function_entries"})}
	tables := func(_ *image.Image, yield func(lo, hi uint64) bool) {
		_ = yield(0x400008, 0x40000c) && yield(0x400028, 0x40002c)
	}
	for pc, want := range map[uint64]stackwalk.Answer{0x400008: stackwalk.Yes, 0x400028: stackwalk.No} {
		if got := New(&discover.Tables{Functions: tables}).CalledByPointer(m, pc, 0); got != want {
			t.Errorf("%#x: %v, want %v", pc, got, want)
		}
	}
}

// TestCalledByPointerExported: a library's symbols have the addresses of all that it exports. Data
// holds that of the first function as well.
func TestCalledByPointerExported(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: `
	400000 <first>:
	400020 <second>:
		400000: d65f03c0  ret
		400020: d65f03c0  ret`,
		Data: map[uint64][]uint64{0x410000: {0x400000}, 0x420000: {0x400000, 0x400020}}}.Image(t)
	m := &target.Module{Image: image.New(img.Header, withList{img.Container(), ".dynsym"})}
	for pc, want := range map[uint64]stackwalk.Answer{0x400000: stackwalk.Yes, 0x400020: stackwalk.No} {
		if got := New(nil).CalledByPointer(m, pc, 0); got != want {
			t.Errorf("%#x: %v, want %v", pc, got, want)
		}
	}
}

// TestCalledByPointerBehindPadding: Linux for x86 has symbols for the padding in front of functions; tables
// have the function's own address, and so have calls.
func TestCalledByPointerBehindPadding(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Listing: `
	401000 <__pfx_write>:
	401010 <write>:
	401020 <__pfx_check>:
	401030 <check>:
	401040 <start>:
		401000: 90  nop
		401001: 90  nop
		401002: 66 2e 0f 1f 84 00 00 00 00 00  cs nopw
		40100c: 0f 1f 40 00  nopl
		401010: c3  ret
		401020: 66 2e 0f 1f 84 00 00 00 00 00  cs nopw
		40102a: 66 0f 1f 44 00 00  nopw
		401030: c3  ret
		401040: e8 eb ff ff ff  call 401030
		401045: c3  ret`,
		Data: map[uint64][]uint64{0x410000: {0, 0x401010, 0}}}
	m := &target.Module{Image: p.Image(t)}
	w := New(nil)
	if got := w.CalledByPointer(m, 0x401010, 0); got != stackwalk.Yes {
		t.Errorf("write: %v", got)
	}
	if got := w.CalledByPointer(m, 0x401030, 0); got != stackwalk.No {
		t.Errorf("check: %v", got)
	}
	if w.Callers(nil, m, 0x401010, 0).All {
		t.Error("all calls of write are known")
	}
}

// TestCalledByPointerSorted: a linked kernel's list of places that tracers patch has no section of its own. It is
// long, and sorted but for where another file's code begins; a table of functions is not.
func TestCalledByPointerSorted(t *testing.T) {
	const n = 600
	for _, c := range []struct {
		what string
		at   func(i int) int
		want stackwalk.Answer
	}{
		{"sorted", func(i int) int { return i }, stackwalk.No},
		{"two files", func(i int) int { return (i + n/2) % n }, stackwalk.No},
		{"unsorted", func(i int) int { return i ^ 1 }, stackwalk.Yes},
	} {
		words := make([]uint64, n)
		for i := range words {
			words[i] = 0x400000 + 8*uint64(c.at(i))
		}
		img := codetest.Program{CPU: "aarch64", Listing: "400000 <first>:\n" + "400000: d65f03c0  ret",
			Data: map[uint64][]uint64{0x410000: words}}.Image(t)
		code := &img.Header.Segments
		for i := range *code {
			if s := &(*code)[i]; s.Exec {
				s.Data, s.Size = bytes.Repeat([]byte{0xc0, 0x03, 0x5f, 0xd6}, 2*n), 8*n
			}
		}
		m := &target.Module{Image: image.New(img.Header, img.Container())}
		if got := New(nil).CalledByPointer(m, 0x400000, 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestCalledByPointerStored: an instruction of x86 that stores a function's address has the address in its bytes, and no
// register ever holds it.
func TestCalledByPointerStored(t *testing.T) {
	m := &target.Module{Image: codetest.Program{CPU: "x86_64", Listing: `
	400000 <write>:
	400010 <proxy>:
	400020 <hidden>:
	400030 <start>:
		400000: c3                       ret
		400010: c3                       ret
		400020: c3                       ret
		400030: 48 c7 47 18 10 00 40 00  movq $0x400010,24(%rdi)
		400038: e8 e3 ff ff ff           call 400020
		40003d: e8 ce ff ff ff           call 400010
		400042: c3                       ret`,
		Data: map[uint64][]uint64{0x410000: {0, 0x400000, 0}}}.Image(t)}
	w := New(nil)
	for pc, want := range map[uint64]stackwalk.Answer{0x400000: stackwalk.Yes, 0x400010: stackwalk.Unknown, 0x400020: stackwalk.No} {
		if got := w.CalledByPointer(m, pc, 0); got != want {
			t.Errorf("%#x: %v, want %v", pc, got, want)
		}
	}
	for pc, want := range map[uint64]bool{0x400010: false, 0x400020: true} {
		if calls := w.Callers(nil, m, pc, 0); len(calls.Returns) != 1 || calls.All != want {
			t.Errorf("%#x: %+v", pc, calls)
		}
	}
}

// TestCalledByPointerListedInCode: the list of places that tracers patch lies in a segment that has code as well; its
// words are not the bytes of instructions.
func TestCalledByPointerListedInCode(t *testing.T) {
	const n = 600
	for what, want := range map[string]stackwalk.Answer{"a list": stackwalk.No, "an instruction": stackwalk.Unknown} {
		text := bytes.Repeat([]byte{0xc3}, 16*n)
		for i := range uint64(n) {
			binary.LittleEndian.PutUint64(text[8*n+8*i:], 0x400000+8*i)
		}
		if what == "an instruction" {
			copy(text[0x20:], []byte{0x48, 0xc7, 0x47, 0x18, 0x08, 0x00, 0x40, 0x00}) // movq $0x400008,24(%rdi)
		}
		img := codetest.Program{CPU: "x86_64", Listing: "400000 <first>:\n400008 <second>:\n400000: c3  ret\n400008: c3  ret",
			Data: map[uint64][]uint64{0x410000: {0x400000}}}.Image(t)
		for i := range img.Header.Segments {
			if s := &img.Header.Segments[i]; s.Exec {
				s.Data, s.Size = text, uint64(len(text))
			}
		}
		m := &target.Module{Image: image.New(img.Header, img.Container())}
		if got := New(nil).CalledByPointer(m, 0x400008, 0); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}
