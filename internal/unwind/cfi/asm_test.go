package cfi_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// The image of all tests here: code at textAddr, call frame information at
// frameAddr, its index at headerAddr.
const (
	textAddr   = 0x10000
	textSize   = 0x8000
	frameAddr  = 0x20000
	headerAddr = 0x30000
)

// code is the bytes of a program.
type code = []byte

// cieText describes a CIE, fdeText the FDEs of the section.
type cieText struct {
	version  byte
	aug      string
	augData  code // after the augmentation's length
	extra    code // between augmentation string and code alignment
	align    byte // code alignment factor, 1 if 0
	data     byte // data alignment factor as SLEB128, -8 if 0
	ra       byte
	code     code
	wide     bool // 64-bit DWARF
	debug    bool // .debug_frame
	bigFirst bool // big-endian
}

type fdeText struct {
	start, size uint64
	head        code // instead of start and size
	aug         code // after the augmentation's length
	code        code
}

// assemble writes one CIE and its FDEs.
func (c cieText) assemble(addrSize int, fdes ...fdeText) []byte {
	out := c.entry(nil, c.cieID(), c.cieBody())
	for _, f := range fdes {
		body := f.head
		if body == nil {
			body = c.uint(c.uint(nil, f.start, addrSize), f.size, addrSize)
		}
		if c.aug != "" && c.aug[0] == 'z' {
			body = append(append(body, byte(len(f.aug))), f.aug...)
		}
		out = c.entry(out, c.ciePointer(len(out)), append(body, f.code...))
	}
	return out
}

func (c cieText) cieBody() []byte {
	b := append([]byte{c.version}, c.aug...)
	b = append(b, 0)
	b = append(b, c.extra...)
	b = append(b, max(c.align, 1), c.dataFactor(), c.ra)
	if c.aug != "" && c.aug[0] == 'z' {
		b = append(append(b, byte(len(c.augData))), c.augData...)
	}
	return append(b, c.code...)
}

func (c cieText) dataFactor() byte {
	if c.data == 0 {
		return 0x78 // -8
	}
	return c.data
}

func (c cieText) cieID() uint64 {
	if c.debug {
		return 0xffff_ffff_ffff_ffff
	}
	return 0
}

// ciePointer of an FDE at off to the CIE at 0.
func (c cieText) ciePointer(off int) uint64 {
	switch {
	case c.debug:
		return 0
	case c.wide:
		return uint64(off) + 12
	}
	return uint64(off) + 4
}

func (c cieText) entry(out []byte, id uint64, body []byte) []byte {
	idSize, head := 4, []byte(nil)
	if c.debug && c.wide {
		idSize = 8
	}
	if n := uint64(idSize + len(body)); c.wide {
		head = c.uint(c.uint(nil, 0xffff_ffff, 4), n, 8)
	} else {
		head = c.uint(nil, n, 4)
	}
	return append(append(out, c.uint(head, id, idSize)...), body...)
}

func (c cieText) uint(b []byte, v uint64, size int) []byte {
	if c.bigFirst {
		return append(b, binary.BigEndian.AppendUint64(nil, v<<(64-8*size))[:size]...)
	}
	return append(b, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
}

// name of the section.
func (c cieText) name() string {
	if c.debug {
		return ".debug_frame"
	}
	return ".eh_frame"
}

// imageOf wraps sections of call frame information. A loaded .eh_frame_hdr is
// what the program headers name.
func imageOf(arch *cpu.Arch, list ...image.Section) *image.Image {
	h := image.Header{Arch: arch, Segments: []image.Segment{{Addr: textAddr, Size: textSize, Data: make([]byte, textSize), Exec: true}}}
	for i := range list {
		s := &list[i]
		switch s.Name {
		case ".eh_frame":
			s.Addr = frameAddr
		case ".eh_frame_hdr":
			s.Addr = headerAddr
			h.Tables = []image.Table{{Kind: image.EHFrameHdr, Range: image.Range{Addr: s.Addr, Size: uint64(len(s.Data))}}}
		default:
			continue
		}
		h.Segments = append(h.Segments, image.Segment{Addr: s.Addr, Size: uint64(len(s.Data)), Data: s.Data})
	}
	return image.New(h, sections{list: list})
}

func archNamed(t testing.TB, name, abi string, big bool) *cpu.Arch {
	a, ok := captured.Archs().ByName(name, abi, big)
	if !ok {
		t.Fatalf("no %s %s", name, abi)
	}
	return a
}

// ask returns the rule at pc as text, or the verdict.
func ask(img *image.Image, pc uint64) string {
	var rule stackwalk.Rule
	v := cfi.New().Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, &rule)
	if v != unwind.Found {
		return v.String()
	}
	return flagText(rule.Flags) + rule.Format(img.Arch)
}

func flagText(f stackwalk.RuleFlags) (s string) {
	if f&stackwalk.SignalFrame != 0 {
		s += "signal "
	}
	if f&stackwalk.SignedRA != 0 {
		s += "signed "
	}
	return s
}
