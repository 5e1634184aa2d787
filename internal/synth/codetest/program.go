// Package codetest makes programs of a few instructions for tests of code analysis. Only
// tests import it.
//
//	codetest.Program{CPU: "x86_64", Listing: `
//	400000 <f>:
//	  400000: e8 0b 00 00 00  call 400010
//	  400005: c3              ret
//	  400010: c3              ret`}.Image(t)
package codetest

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/captured"
)

// Program is a program as its file would have it.
type Program struct {
	// CPU is a name of package cpu, the ABI's where there are several, and "big" where
	// that is the byte order: "mips o32 big".
	CPU string
	// Listing is the text as objdump -d prints it: bytes, halves or words behind an
	// address; what follows two spaces or a tab is for the reader. A line "400000 <f>:"
	// is a symbol of a function. Holes are filled with zeros.
	Listing string
	Mode    cpu.Mode // of the functions that symbols name
	Entry   uint64
	// Interpreted, Relocatable and OneMode are those of image.Header.
	Interpreted, Relocatable, OneMode bool
	// Data is words of writable memory, by the address of the first of some.
	Data map[uint64][]uint64
	// Rebased are the addresses that relocations list; nil where they list none.
	Rebased []uint64
	// Imports are the names of the functions whose addresses the dynamic linker stores.
	Imports map[uint64]string
	// Linked are the words of Data that the linker alone decides.
	Linked []uint64
	// Sealed are the words of Data that are read-only once they are relocated.
	Sealed []uint64
	// Resolvers are the functions that say what the dynamic linker stores, by the word's address.
	Resolvers map[uint64]uint64
	// Symbols is what the file says of its symbols.
	Symbols Symbols
	// Sections are the addresses of sections, whose bytes are the words of Data from there on.
	Sections map[string]uint64
}

// Symbols is what a file says of its symbols.
type Symbols uint8

const (
	Plain   Symbols = iota // of all functions, without sizes
	Exports                // they name only what others may call, without sizes
	Sized                  // each function's, with its size
)

// Image returns the program.
func (p Program) Image(t testing.TB) *image.Image {
	t.Helper()
	h := image.Header{Path: "program", Arch: p.arch(t), Entry: p.Entry, Interpreted: p.Interpreted, Relocatable: p.Relocatable, OneMode: p.OneMode}
	c := &container{program: p, arch: h.Arch, functions: map[uint64]string{}}
	var text image.Segment
	for line := range strings.Lines(p.Listing) {
		addr, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case addr == "":
		case strings.HasPrefix(rest, "<"):
			c.functions[number(t, addr)] = strings.Trim(rest, "<>:")
		default:
			place(&text, number(t, strings.TrimSuffix(addr, ":")), units(t, h.Arch, rest))
		}
	}
	text.Size, text.Read, text.Exec = uint64(len(text.Data)), true, true
	c.end = text.Addr + text.Size
	h.Segments = append(h.Segments, text)
	for addr := range p.Data {
		data := p.data(h.Arch, addr)
		h.Segments = append(h.Segments, image.Segment{Addr: addr, Size: uint64(len(data)), Data: data, Read: true, Write: true})
	}
	if p.Rebased == nil {
		return image.New(h, c)
	}
	return image.New(h, rebased{c})
}

// data are the bytes of Data's words from an address on.
func (p *Program) data(a *cpu.Arch, addr uint64) (data []byte) {
	for _, w := range p.Data[addr] {
		data = append(data, word(a, w)...)
	}
	return data
}

func (p *Program) arch(t testing.TB) *cpu.Arch {
	name, rest, _ := strings.Cut(p.CPU, " ")
	abi, big := strings.CutSuffix(rest, "big")
	a, ok := captured.Archs().ByName(name, strings.TrimSpace(abi), big)
	if !ok {
		t.Fatal("no CPU ", p.CPU)
	}
	return a
}

// place appends bytes to the text at an address.
func place(text *image.Segment, addr uint64, b []byte) {
	if text.Data == nil {
		text.Addr = addr
	}
	text.Data = append(text.Data, make([]byte, addr-text.Addr-uint64(len(text.Data)))...)
	text.Data = append(text.Data, b...)
}

// units puts what a line has behind the address into the order of memory.
func units(t testing.TB, a *cpu.Arch, rest string) (out []byte) {
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), "  ")
	rest, _, _ = strings.Cut(rest, "\t")
	for _, unit := range strings.Fields(rest) {
		b, err := hex.DecodeString(unit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			if a.BigEndian {
				out = append(out, b[i])
			} else {
				out = append(out, b[len(b)-1-i])
			}
		}
	}
	return out
}

// word is a number as an address of the CPU lies in memory.
func word(a *cpu.Arch, v uint64) []byte {
	if a.BigEndian {
		return binary.BigEndian.AppendUint64(nil, v)[8-a.AddrSize:]
	}
	return binary.LittleEndian.AppendUint64(nil, v)[:a.AddrSize]
}

func number(t testing.TB, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
