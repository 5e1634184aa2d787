package jitnames

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Anonymous is the name of memory of no file, as the kernel's events have it.
const Anonymous = "//anon"

// module is a function as a module: an image of its code, at the addresses where it lies, with what the log has of it.
func (f *function) module(arch *cpu.Arch, code, frames, lines []byte) *target.Module {
	h := image.Header{Path: Anonymous, Arch: arch, Made: true, Segments: image.Segments{{Addr: f.addr, Size: f.size, Data: code, Read: true, Exec: true}}}
	img := image.New(h, &container{f, frames, lines})
	return &target.Module{Name: Anonymous, Range: target.Range{Lo: f.addr, Hi: f.addr + f.size}, Image: img}
}

// container is the image.Container of one function.
type container struct {
	f             *function
	frames, lines []byte
}

// Section is .eh_frame, which is meant to lie behind the code (perf inject writes it there, at a multiple of 8).
func (c *container) Section(name string) (image.Section, bool) {
	if name != ".eh_frame" || len(c.frames) == 0 {
		return image.Section{}, false
	}
	return image.Section{Name: name, Addr: (c.f.addr + c.f.size + 7) &^ 7, Data: c.frames}, true
}

func (c *container) symbol() image.Symbol {
	return image.Symbol{Name: c.f.name, Addr: c.f.addr, Size: c.f.size}
}

// SymbolAt implements image.Container.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	return c.symbol(), addr-c.f.addr < c.f.size
}

// SymbolNamed implements image.Container.
func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	return c.symbol(), name == c.f.name
}

// Functions implements image.Container.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	yield(c.f.addr, 0, c.f.size)
}

// FunctionAt bounds the function.
func (c *container) FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool) {
	return c.f.addr, c.f.addr + c.f.size, 0, addr-c.f.addr < c.f.size
}

// LineAt is the line of an address: address, line, discriminator and file of each line that the log has; where the file's name is that of
// the line before, two bytes stand for the name. V8 takes the names of optimized functions' files from memory that it has given back.
func (c *container) LineAt(addr uint64) (at image.SourceLine, ok bool) {
	in := bin.New(c.lines, c.f.log.big)
	in.Skip(8)
	file, best := []byte(nil), uint64(0)
	for n := in.U64(); n > 0 && in.Err() == nil; n-- {
		from, line := in.U64()-c.f.log.skew-c.f.made+c.f.addr, in.U32()
		in.Skip(4)
		if name := in.CBytes(); !bytes.Equal(name, []byte{0xff}) {
			file = name
		}
		if in.Err() == nil && from <= addr && from >= max(best, c.f.addr) {
			best, ok = from, true
			at.File, at.Line = string(file), int(line)
		}
	}
	return at, ok && at.Line > 0 && isText(at.File)
}

// isText tells whether a name may be one of a file.
func isText(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Close implements image.Container.
func (c *container) Close() error { return nil }
