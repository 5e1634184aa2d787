package sframe_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/listed"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/tables/sframe"
	"github.com/backsight/backsight/unwind/rule"
)

// section is a .sframe of version 2, read as its specification has it.
type section struct {
	image.Section
	fixedRA int64
	fdes    []byte // 20 bytes each
	fres    []byte
}

func read(t *testing.T, file []byte) *section {
	t.Helper()
	img, err := image.Parse("x", file, []image.Format{elf.Format()}, image.Options{Archs: captured.Archs()})
	if err != nil {
		t.Fatal(err)
	}
	sec, _ := img.Sections.Named(".sframe")
	b, u32 := sec.Data, binary.LittleEndian.Uint32
	if len(b) < 28 || b[0] != 0xe2 || b[1] != 0xde || b[2] != 2 || b[3]&1 == 0 {
		t.Fatalf("header % x", b[:min(len(b), 28)])
	}
	fdes, fres := b[28+u32(b[20:]):], b[28+u32(b[24:]):]
	return &section{sec, int64(int8(b[6])), fdes[:20*u32(b[8:])], fres[:u32(b[16:])]}
}

// at is what holds at an address: base register, then the places of CFA, return address and frame
// pointer; "" where no function has it.
func (s *section) at(pc uint64) string {
	u32 := binary.LittleEndian.Uint32
	for fde := s.fdes; len(fde) > 0; fde = fde[20:] {
		start := s.Addr + uint64(int64(int32(u32(fde))))
		if pc-start >= uint64(u32(fde[4:])) {
			continue
		}
		return s.row(s.fres[u32(fde[8:]):], int(u32(fde[12:])), 1<<(fde[16]&15), pc-start)
	}
	return ""
}

// row goes through n rows, whose starts have so many bytes, to the last one that begins at or before
// an offset.
func (s *section) row(b []byte, n, startSize int, at uint64) (said string) {
	for range n {
		if little(b, startSize) > at {
			break
		}
		info := b[startSize]
		size := 1 << (info >> 5 & 3)
		b = b[startSize+1:]
		var offsets []int64
		for range info >> 1 & 15 {
			shift := 64 - 8*size
			offsets = append(offsets, int64(little(b, size))<<shift>>shift)
			b = b[size:]
		}
		said = s.text(info, offsets)
	}
	return said
}

func little(b []byte, size int) (v uint64) {
	for i := range size {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// text is a row in words: "sp+32 RA -8 FP -16".
func (s *section) text(info byte, offsets []int64) string {
	base := [...]string{"fp", "sp"}[info&1]
	out := fmt.Sprintf("%s%+d", base, offsets[0])
	rest := offsets[1:]
	if s.fixedRA != 0 {
		rest = append([]int64{s.fixedRA}, rest...)
	}
	for i, name := range [...]string{"RA", "FP"} {
		if i < len(rest) {
			out += fmt.Sprintf(" %s %d", name, rest[i])
		}
	}
	if info&0x80 != 0 {
		out += " signed"
	}
	return out
}

// said is the same of a rule.
func said(p *tables.Program, r *tables.Rule) string {
	a := p.Image.Arch
	base := "sp"
	if r.CFA.Base == a.FP {
		base = "fp"
	}
	out := fmt.Sprintf("%s%+d", base, r.CFA.Off)
	if r.RA.Kind == rule.AtCFA {
		out += fmt.Sprintf(" RA %d", r.RA.Off)
	}
	if fp := r.Of(a.FP); fp.Kind == rule.AtCFA {
		out += fmt.Sprintf(" FP %d", fp.Off)
	}
	if r.Flags&rule.SignedRA != 0 {
		out += " signed"
	}
	return out
}

// TestEveryAddress: at each address of a sample of a C library's functions, version 2 says what the
// rule says, and nothing where none is known or none could be said.
func TestEveryAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, name := range []string{"x86_64-threads/modules/usr/lib/libc.so.6", "aarch64-signal/modules/lib/libc.so.6"} {
		p := listed.Rules(t, name)
		var b bytes.Buffer
		refused, err := sframe.Format().Write(&b, p)
		if err != nil {
			t.Fatal(err)
		}
		silent := func(pc uint64) bool {
			for _, r := range refused {
				if pc-r.Addr < r.Size {
					return true
				}
			}
			return false
		}
		s, compared := read(t, b.Bytes()), 0
		const every = 300 // functions
		for i := 0; i < len(p.Functions); i += every {
			for pc := p.Functions[i].Start; pc < p.Functions[i].End; pc++ {
				want := ""
				if r := p.At(pc); r != nil && !silent(pc) {
					want = said(p, r)
				}
				if got := s.at(pc); got != want {
					t.Fatalf("%s: %#x: %q, want %q", name, pc, got, want)
				}
				compared++
			}
		}
		if compared < 1000 {
			t.Errorf("%s: %d addresses", name, compared)
		}
	}
}
