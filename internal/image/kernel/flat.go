package kernel

import (
	"encoding/binary"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/kallsyms"
)

// flat makes an image of a kernel without headers.
func (p *payload) flat(f *image.File) *image.Image {
	h := image.Header{Path: f.Name, Arch: p.arch, Relocatable: true}
	if p.arch.ISABit && !p.arch.ModeOnly && p.arch.Name == "mips" {
		h.OneMode = true
	}
	table, base := p.place(&h)
	var relocations span
	if table != nil && p.arch.AddrSize == 8 {
		relocations = p.relocate(base)
	}
	h.Segments = p.segments(table, base, relocations)
	c := image.Container(&closing{nothing{}, f})
	img := image.New(h, c)
	if table != nil {
		img = kallsyms.Named(img, table)
	}
	return img
}

// place finds the kernel's names, and the address of its first byte: by names and code; else
// where a boot loader puts it.
func (p *payload) place(h *image.Header) (*kallsyms.Table, uint64) {
	table, err := kallsyms.Find(p.ctx, p.data, p.arch.AddrSize)
	if err != nil {
		h.Issues = append(h.Issues, h.Path+": the kernel carries no names (kallsyms)")
		return nil, p.load
	}
	if table.FromData {
		return p.placeFromData(h, table)
	}
	lowest, at, ok := shift(table, p.arch, p.data)
	switch {
	case !ok && table.Relative:
		h.Issues = append(h.Issues, h.Path+": the kernel's names do not fit its code; not used")
		return nil, p.load
	case !ok:
		h.Issues = append(h.Issues, h.Path+": the kernel's link address was not found; taken from its names")
		return table, lowest &^ (pageSize - 1)
	case !table.Relative:
		return table, lowest - at
	}
	var order binary.ByteOrder = binary.LittleEndian
	if p.arch.BigEndian {
		order = binary.BigEndian
	}
	base, ok := relocated(p.data, order, table.BaseOffset, at-lowest)
	if !ok {
		h.Issues = append(h.Issues, h.Path+noLinkAddress)
	}
	return table.Moved(base + at - lowest), base
}

const noLinkAddress = ": the kernel's link address was not found; addresses count from its first byte"

// placeFromData finds the address of the first byte by the pointers to functions among the kernel's data.
func (p *payload) placeFromData(h *image.Header, table *kallsyms.Table) (*kallsyms.Table, uint64) {
	base, ok := pointedFrom(table, p.arch, p.data)
	if !ok {
		base = 0
		h.Issues = append(h.Issues, h.Path+noLinkAddress)
	}
	return table.Moved(base), base
}

// segments cuts the kernel where its symbols say that code begins and ends: from the first
// byte to _etext, and the code of the start. Without names all of it may be code. The relocations are left
// out, whose words point to functions but are no pointers.
func (p *payload) segments(table *kallsyms.Table, base uint64, relocations span) (segs []image.Segment) {
	end := base + uint64(len(p.data))
	add := func(lo, hi uint64, exec bool) {
		if lo < hi && hi <= end {
			segs = append(segs, image.Segment{Addr: lo, Size: hi - lo, Data: p.data[lo-base : hi-base], FileOff: lo - base,
				Read: true, Write: !exec, Exec: exec})
		}
	}
	at := func(name string) uint64 {
		if table == nil {
			return 0
		}
		s, _ := table.Named(name)
		return s.Addr
	}
	etext, sinit, einit := at("_etext"), at("_sinittext"), at("_einittext")
	if etext <= base || etext > end {
		add(base, end, true)
		return segs
	}
	add(base, etext, true)
	if etext <= sinit && sinit < einit && einit <= end {
		add(etext, sinit, false)
		add(sinit, einit, true)
		etext = einit
	}
	if lo := base + uint64(relocations.lo); etext <= lo && relocations.lo < relocations.hi {
		add(etext, lo, false)
		etext = base + uint64(relocations.hi)
	}
	add(etext, end, false)
	if n := len(segs) - 1; at("_end") > end { // .bss
		segs[n].Size = at("_end") - segs[n].Addr
	}
	return segs
}
