// Package pdata reads the functions that a PE file lists in .pdata (RUNTIME_FUNCTION), each with how its frame is made.
//
//	x64     begin, end, UNWIND_INFO ─► codes, and of a part of a function the entry of the whole
//	ARM64   begin, packed word or .xdata
//
// Every function has an entry that calls others or moves the stack pointer. Addresses are image addresses.
//
// Specifications: Microsoft, "x64 exception handling" and "ARM64 exception handling".
package pdata

import (
	"sort"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Function is an entry.
type Function struct {
	Lo, Hi uint64
	// Entry is where the function begins that Lo to Hi is a part of; Lo for a whole one.
	Entry uint64
	// Info is what the entry says of the frame: on x64 where its UNWIND_INFO lies, relative to the file's base; on ARM64 the
	// packed word, or, where its lowest two bits are 0, where the .xdata lies.
	Info uint32
}

// maxChain bounds the parts that a function is said to have, one inside another. Windows follows 32.
const maxChain = 32

// list is the entries of an image.
type list struct {
	img  *image.Image
	data []byte
	base uint64
	size int // of an entry
}

func listOf(img *image.Image) list {
	t := img.Table(image.RuntimeFunctions)
	l := list{img: img, base: t.Base}
	switch img.Arch.Name {
	case "x86_64":
		l.size = 12
	case "aarch64":
		l.size = 8
	default:
		return l
	}
	l.data = img.Segments.Bytes(t.Addr)
	l.data = l.data[:bin.Limit(t.Size, len(l.data))]
	return l
}

func (l *list) len() int {
	if l.size == 0 {
		return 0
	}
	return len(l.data) / l.size
}

// begin is the first address of the i-th entry.
func (l *list) begin(i int) uint64 {
	r := bin.NewAt(l.data, uint64(i*l.size), false)
	return l.base + uint64(r.U32())
}

// Find is the entry that covers an address.
func Find(img *image.Image, pc uint64) (Function, bool) {
	l := listOf(img)
	i := sort.Search(l.len(), func(i int) bool { return l.begin(i) > pc })
	if i == 0 {
		return Function{}, false
	}
	f := l.at(i - 1)
	return f, pc < f.Hi
}

// Each calls yield for the entries in the file's order, until yield returns false.
func Each(img *image.Image, yield func(f Function) bool) {
	l := listOf(img)
	for i := range l.len() {
		if f := l.at(i); f.Lo < f.Hi && !yield(f) {
			return
		}
	}
}

// FunctionRanges calls yield for the range of each entry that is a whole function, until yield returns false.
func FunctionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	Each(img, func(f Function) bool { return f.Entry != f.Lo || yield(f.Lo, f.Hi) })
}

func (l *list) at(i int) Function {
	r := bin.NewAt(l.data, uint64(i*l.size), false)
	if l.size == 8 {
		return l.arm64(&r)
	}
	return l.x64(&r)
}

// x64 reads an entry of x64. Where the lowest bit of its information is set, that is the place of another entry.
func (l *list) x64(r *bin.Reader) (f Function) {
	f.Lo, f.Hi, f.Info = l.base+uint64(r.U32()), l.base+uint64(r.U32()), r.U32()
	if f.Info&1 != 0 {
		other := bin.New(l.img.Segments.Bytes(l.base+uint64(f.Info&^1)), false)
		other.Skip(8)
		f.Info = other.U32()
	}
	f.Entry = f.Lo
	for info, n := UnwindInfoAt(l.img, f.Info), 0; info.Chained && n < maxChain; n++ {
		f.Entry = l.base + uint64(info.Parent.begin)
		info = UnwindInfoAt(l.img, info.Parent.Info)
	}
	return f
}

// arm64 reads an entry of ARM64. The length is in its word, or in the first word of its .xdata.
func (l *list) arm64(r *bin.Reader) (f Function) {
	f.Lo, f.Info = l.base+uint64(r.U32()), r.U32()
	length := uint64(f.Info >> 2 & 0x7ff)
	if f.Info&3 == 0 {
		xdata := bin.New(l.img.Segments.Bytes(l.base+uint64(f.Info)), false)
		length = uint64(xdata.U32() & 0x3ffff)
	}
	f.Entry, f.Hi = f.Lo, f.Lo+length*4
	return f
}
