//go:build !small

package symbol

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"slices"
	"sync"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stack"
)

// readAhead sorts addresses in the order of their units, and begins to read these, for
// open. To reach a unit in a compressed section takes longer than what is done with it
// then, and to go back means to begin again. done waits for the reading.
func (d *debugInfo) readAhead(addrs []uint64) (done func()) {
	d.sort(addrs)
	if d.place(addrs[0]) < 0 { // all units will be looked at
		return func() {}
	}
	var units []*unit
	for _, addr := range addrs {
		if i, _ := covering(d.spans, addr); d.units[i].data == nil && d.units[i].ahead == nil {
			u := &d.units[i]
			u.ahead = make(chan []byte, 1)
			units = append(units, u)
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		stack.Reserve()
		d.readInto(units)
	})
	return reading.Wait
}

// sort sorts addresses by the places of their units.
func (d *debugInfo) sort(addrs []uint64) {
	if len(d.spans) == 0 {
		slices.Sort(addrs)
		return
	}
	type placed struct {
		unit int64
		addr uint64
	}
	all := make([]placed, len(addrs))
	for i, addr := range addrs {
		all[i] = placed{d.place(addr), addr}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.addr, b.addr)) })
	for i := range all {
		addrs[i] = all[i].addr
	}
}

// place is where the unit of an address is in .debug_info, -1 where none is known.
func (d *debugInfo) place(addr uint64) int64 {
	if i, ok := covering(d.spans, addr); ok {
		return int64(d.units[i].header)
	}
	return -1
}

// readInto reads units, in their order. Those that overlap, which no compiler writes, are
// not read: they could add up to any size.
func (d *debugInfo) readInto(units []*unit) {
	end := uint64(0)
	for _, u := range units {
		var info []byte
		if uint64(u.header) >= end {
			// Where this fails, so does open, which says so.
			_ = mapped.Guard(func() { info = d.readUnit(u.header) })
			end = uint64(u.header) + uint64(len(info))
		}
		u.ahead <- info
	}
}

// readUnit reads a unit, nil where it does not fit into the section.
func (d *debugInfo) readUnit(header dwarf.Offset) []byte {
	const longest = 12 // of initial lengths
	at := uint64(header)
	r := bin.New(d.img.Sections.Part(".debug_info", at, longest), d.big)
	n, _ := unitLength(&r)
	size := uint64(r.Offset()) + n
	info := d.img.Sections.Part(".debug_info", at, size)
	if r.Err() != nil || uint64(len(info)) < max(n, size) {
		return nil
	}
	return bytes.Clone(info)
}
