package elfcore

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// TestBiases: which mappings a file's segments lie in tells where the file was loaded, whatever rights the mappings have.
func TestBiases(t *testing.T) {
	const r, w, x = 4, 2, 1
	segment := func(off, addr, size uint64, exec bool) image.Segment {
		return image.Segment{Addr: addr, Size: size, FileOff: off, Data: make([]byte, size), Exec: exec, Write: !exec}
	}
	program := []image.Segment{segment(0, 0x8048000, 0x9e643, true), segment(0x9ecac, 0x80e7cac, 0x360c, false)}
	library := []image.Segment{segment(0, 0, 0xd38, false), segment(0x1000, 0x1000, 0x14b5, true), segment(0x3000, 0x3000, 0xa5c, false), segment(0x3e30, 0x4e30, 0x1f0, false)}
	for name, tt := range map[string]struct {
		segments []image.Segment
		mappings [][3]uint64 // start, end, offset in the file
		rights   []uint32
		want     []uint64
	}{
		"text and data share a page": {program,
			[][3]uint64{{0x8048000, 0x80e7000, 0}, {0x80e7000, 0x80ea000, 0x9e000}, {0x80ea000, 0x80ec000, 0xa1000}}, []uint32{r | x, r, r | w}, []uint64{0}},
		"all mappings are executable": {program,
			[][3]uint64{{0x8048000, 0x80e7000, 0}, {0x80e7000, 0x80ea000, 0x9e000}, {0x80ea000, 0x80ec000, 0xa1000}}, []uint32{r | x, r | x, r | w | x}, []uint64{0}},
		"a library whose mappings were joined": {library,
			[][3]uint64{{0x7000000, 0x7004000, 0}, {0x7004000, 0x7005000, 0x3000}, {0x7005000, 0x7006000, 0x4000}}, []uint32{r | x, r | x, r | w | x}, []uint64{0x7000000}},
		"loaded twice": {library,
			[][3]uint64{{0x7000000, 0x7001000, 0}, {0x7001000, 0x7003000, 0x1000}, {0x9000000, 0x9001000, 0}, {0x9001000, 0x9003000, 0x1000}}, []uint32{r, r | x, r, r | x}, []uint64{0x7000000, 0x9000000}},
		"read as data only": {library, [][3]uint64{{0x7000000, 0x7006000, 0}}, []uint32{r}, nil},
	} {
		s := newSpace(t.Context(), &file{}, x86.Archs()[0], nil)
		m := mapping{}
		for i, f := range tt.mappings {
			m.parts = append(m.parts, fileMapping{start: f[0], end: f[1], off: f[2]})
			s.loads = append(s.loads, phdr{vaddr: f[0], memsz: f[1] - f[0], flags: tt.rights[i]})
		}
		if got := s.biases(&m, image.New(image.Header{Segments: tt.segments}, nil)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %#x, want %#x", name, got, tt.want)
		}
	}
}

// TestMovedText: a program that moved its text to huge pages has anonymous memory between the mappings of its file. Where that
// memory reads like the file's code, the file is loaded there.
func TestMovedText(t *testing.T) {
	arch := x86.Archs()[0]
	code := []byte{0x55, 0x48, 0x89, 0xe5, 0xc3}
	img := image.New(image.Header{Segments: []image.Segment{
		{Size: 0x630, Data: make([]byte, 0x630)}, {Addr: 0x1000, Size: 5, FileOff: 0x1000, Data: code, Exec: true}, {Addr: 0x2000, Size: 0x148, FileOff: 0x2000, Data: make([]byte, 0x148)},
	}}, nil)
	m := mapping{parts: []fileMapping{{start: 0x500000, end: 0x501000}, {start: 0x502000, end: 0x503000, off: 0x2000}}}
	for _, tt := range []struct {
		there []byte
		want  []uint64
	}{{code, []uint64{0x500000}}, {[]byte{0x55, 0x90, 0x90, 0x90, 0xc3}, nil}} {
		s := newSpace(t.Context(), &file{}, arch, []phdr{{vaddr: 0x500000, memsz: 0x1000, flags: 4}, {vaddr: 0x501000, memsz: 0x1000, flags: 5}, {vaddr: 0x502000, memsz: 0x1000, flags: 4}})
		var b target.Builder
		b.Add(0x501000, tt.there, uint64(len(tt.there)), target.PermRead|target.PermExec)
		s.captured = b.Memory(arch)
		if !s.isCode(&m, &mappedELF{found: true}) {
			t.Error("taken for data")
		}
		if got := s.biases(&m, img); !slices.Equal(got, tt.want) {
			t.Errorf("%x there: %#x, want %#x", tt.there, got, tt.want)
		}
	}
}
