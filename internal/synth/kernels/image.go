package kernels

import (
	"encoding/binary"
	"fmt"
)

// Code is a kernel without headers, as its build links it: code, the banner, names. Its
// functions have 64 bytes and more, of words of Body, and Return at the end.
type Code struct {
	Layout
	Link      uint64 // the address of the first byte
	Before    int    // bytes before the first function
	Body      uint32
	Return    []uint32
	Functions int
	// Pointers: the tables of names are those of Linux 7, behind pointers to some of the functions.
	Pointers bool
	// Start is how many of them, the last ones, are the kernel's start, whose memory it gives away.
	Start int
}

// Banner is the banner of these kernels.
const Banner = "Linux version 6.1.0-synth (someone@example) (gcc 12) #1 SMP test"

// Symbols are those of the kernel: function0, function1, …
func (c *Code) Symbols() (list []Symbol) {
	at := c.Link + uint64(c.Before)
	for i := range c.Functions {
		if c.Start > 0 && i == c.Functions-c.Start {
			list = append(list, Symbol{at, "T_etext"}, Symbol{at, "T_sinittext"})
		}
		list = append(list, Symbol{at, fmt.Sprintf("Tfunction%d", i)})
		at += 4 * uint64(words(i))
	}
	if c.Start > 0 {
		return append(list, Symbol{at, "T_einittext"})
	}
	return append(list, Symbol{at, "T_etext"})
}

// words is the size of function i. Sizes differ, as those of real functions do.
func words(i int) int { return 16 + i*7%13 }

// flat are the bytes of the kernel.
func (c *Code) flat() []byte {
	out := make([]byte, c.Before)
	for i := range c.Functions {
		for range words(i) - len(c.Return) {
			out = c.Order.AppendUint32(out, c.Body)
		}
		for _, w := range c.Return {
			out = c.Order.AppendUint32(out, w)
		}
	}
	out = append(out, "\x00\x00\x00\x00Linux version %s (%s)\x00"+Banner+"\n\x00"...)
	for len(out)%16 != 0 {
		out = append(out, 0)
	}
	layout := c.Layout
	if c.Pointers {
		for _, s := range c.Symbols()[:100] {
			out = c.Order.AppendUint64(out, s.Addr)
		}
		layout.At, layout.Late = c.Link+uint64(len(out)), true
	}
	return append(out, Kallsyms(c.Symbols(), layout)...)
}

// ARM64 is a kernel for arm64, with the head of an Image.
func ARM64() (*Code, []byte) {
	c := &Code{Layout: Layout{Order: binary.LittleEndian, Word: 8, Base: 0xffff_8000_0801_0000}, Link: 0xffff_8000_0800_0000,
		Before: 0x10000, Body: 0x91000400, Return: []uint32{0xd65f03c0}, Functions: 1000, Start: 10}
	b := c.flat()
	copy(b[0x38:], "ARM\x64")
	return c, b
}

// ARM64Linux7 is a kernel for arm64 as Linux 7 lays it out, with the head of an Image.
func ARM64Linux7() (*Code, []byte) {
	c, _ := ARM64()
	c.Pointers = true
	b := c.flat()
	copy(b[0x38:], "ARM\x64")
	return c, b
}

// MIPS is a big-endian kernel for MIPS, without a head.
func MIPS() (*Code, []byte) {
	c := &Code{Layout: Layout{Order: binary.BigEndian, Word: 4, Base: 0x8010_0400}, Link: 0x8010_0000,
		Before: 0x400, Body: 0x24420001, Return: []uint32{0x03e00008, 0}, Functions: 1000}
	return c, c.flat()
}
