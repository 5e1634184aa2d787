package paging

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// tables are entries by physical address.
type tables map[uint64]uint64

func (e tables) memory(size int) *target.Memory {
	data := make([]byte, 192<<10)
	for at, v := range e {
		if size == 4 {
			binary.LittleEndian.PutUint32(data[at:], uint32(v))
		} else {
			binary.LittleEndian.PutUint64(data[at:], v)
		}
	}
	var b target.Builder
	b.Add(0, data, 0, 0)
	return b.Memory(&cpu.Arch{AddrSize: 8})
}

// TestMappings: one page, one large page and a neighbour of the first in each scheme.
func TestMappings(t *testing.T) {
	for _, c := range []struct {
		name    string
		scheme  Scheme
		entries tables
		want    string
	}{
		{"arm64, 4 KB, 48 bits", AArch64(12, 48, false), tables{
			0x1000: 0x2003, 0x2000: 0x3003, 0x3008: 0x4003, 0x3010: 0x4020_0701, // a table, a block of 2 MB
			0x4000: 0x5703, 0x4008: 0x0020_0000_0000_6783, // two pages; the second may be neither run nor written
		}, "ffff000000200000+1000=5000 rwx, ffff000000201000+1000=6000 r--, ffff000000400000+200000=40200000 rwx"},
		{"arm64, 64 KB, 52 bits", AArch64(16, 52, true), tables{
			0x1000: 0x1_0003, 0x1_0000: 0x2_0003, 0x2_0000: 0x3_1703, // bits 12 to 15 are bits 48 to 51 of the address
		}, "fff0000000000000+10000=1000000030000 rwx"},
		{"x86-64", X8664(4), tables{
			0x1000 + 8*511: 0x2003, 0x2000 + 8*510: 0x3003, 0x3000: 0x4003, 0x3008: 0x20_00e3,
			0x4000: 0x5003, 0x4008: 1<<63 | 0x6001,
		}, "ffffffff80000000+1000=5000 rwx, ffffffff80001000+1000=6000 r--, ffffffff80200000+200000=200000 rwx"},
		{"x86-64, 5 levels", X8664(5), tables{
			0x1000 + 8*511: 0x2003, 0x2000 + 8*511: 0x3003, 0x3000 + 8*511: 0x8000_00e3,
		}, "ffffffffc0000000+40000000=80000000 rwx"},
		{"Sv39", RISCV(3), tables{
			0x1000 + 8*511: 0x2000>>2 | 1, 0x2000 + 8*0: 0x20_0000>>2 | 0xb, 0x2008: 0x40_0000>>2 | 7,
		}, "ffffffffc0000000+200000=200000 r-x, ffffffffc0200000+200000=400000 rw-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := Tables{Scheme: c.scheme, Physical: c.entries.memory(c.scheme.EntrySize), Root: 0x1000}
			got, err := x.Mappings(t.Context(), 0)
			if err != nil || text(got) != c.want {
				t.Errorf("%s, error %v\nwant %s", text(got), err, c.want)
			}
			for _, m := range got {
				last := m.Size - 1
				if pa, ok := x.Translate(m.Virtual + last); !ok || pa != m.Physical+last {
					t.Errorf("%#x is at %#x, %t", m.Virtual+last, pa, ok)
				}
				if pa, ok := x.Translate((m.Virtual + last) ^ 1<<63); ok {
					t.Errorf("an address of the other half is at %#x", pa)
				}
			}
		})
	}
}

func text(list []Mapping) (s string) {
	for i, m := range list {
		if i > 0 {
			s += ", "
		}
		rights := []byte("r--")
		if m.Write {
			rights[1] = 'w'
		}
		if m.Exec {
			rights[2] = 'x'
		}
		s += fmt.Sprintf("%x+%x=%x %s", m.Virtual, m.Size, m.Physical, rights)
	}
	return s
}

// TestPAE: the first level of PAE leads to tables only. What looks like a page of 1 GB there is an entry of
// another level: page tables are found by their contents, and a table of pages is no first one.
func TestPAE(t *testing.T) {
	e := tables{0x1000 + 8*3: 0x2021, 0x2000 + 8*8: 0x3063, 0x3000 + 8*5: 1<<63 | 0x5063, 0x1000 + 8*2: 0x4000_01e3}
	x := Tables{Scheme: X8632(true), Physical: e.memory(8), Root: 0x1000}
	if got, err := x.Mappings(t.Context(), 0x8000_0000); err != nil || text(got) != "c1005000+1000=5000 rw-" {
		t.Errorf("%s, %v", text(got), err)
	}
}

// TestARM: sections and small pages of short descriptors.
func TestARM(t *testing.T) {
	x := Tables{Scheme: ARM(), Physical: tables{0x4000 + 4*0xc00: 0x0010_041e, 0x4000 + 4*0xc01: 0x8001, 0x8000 + 4*5: 0x0020_045f}.memory(4), Root: 0x4000}
	if got, err := x.Mappings(t.Context(), 0x8000_0000); err != nil || text(got) != "c0000000+100000=100000 rw-, c0105000+1000=200000 rw-" {
		t.Errorf("%s, %v", text(got), err)
	}
}

// TestMIPS: tables hold addresses in kseg0, and pages' numbers behind the cache's bits.
func TestMIPS(t *testing.T) {
	const pfn = 12
	x := Tables{Scheme: MIPS(4, 12, pfn, 0), Physical: tables{0x1000 + 4*0x300: 0x8000_2000, 0x2000: 5<<pfn | 3<<9 | 1, 0x2004: 10<<pfn | 3<<9 | 1}.memory(4), Root: 0x1000}
	if got, err := x.Mappings(t.Context(), 0x8000_0000); err != nil || text(got) != "c0000000+1000=5000 rwx, c0001000+1000=a000 rwx" {
		t.Errorf("%s, %v", text(got), err)
	}
	if !x.SameCache(t.Context()) {
		t.Error("pages of one kind of cache differ")
	}
	x.Scheme = MIPS(4, 12, pfn+2, 0)
	if x.SameCache(t.Context()) {
		t.Error("with the page's number two bits further on, parts of numbers are taken for a kind of cache")
	}
}

// TestCKSSEG: MIPS's modules lie in the last gigabyte of addresses. With pages of 16 KB the entry of the first table
// that leads there has the end of XKSEG, too. A device that is mapped has another kind of cache.
func TestCKSSEG(t *testing.T) {
	const pfn, cached, uncached = 16, 3, 2
	entry := func(pa, cache uint64) uint64 { return pa>>14<<pfn | cache<<(pfn-3) | 1 }
	m := tables{0x4000 + 8*2047: 0x9800_0000_0000_8000, 0x8000 + 8*1920: 0x9800_0000_0000_c000, 0x8000 + 8*2016: 0x9800_0000_0001_0000,
		0xc000: entry(0x8000, cached), 0x1_0000: entry(0x4000, cached), 0x1_0008: entry(0x1800_0000, uncached)}
	x := Tables{Scheme: MIPS(8, 14, pfn, 0xc000_0000_0000_0000), Physical: m.memory(8), Root: 0x4000}
	const want = "c0007fff00000000+4000=8000 rwx, ffffffffc0000000+4000=4000 rwx, ffffffffc0004000+4000=18000000 rwx"
	if got, err := x.Mappings(t.Context(), 1<<63); err != nil || text(got) != want {
		t.Errorf("%s, %v", text(got), err)
	}
	if pa, ok := x.Translate(0xffff_ffff_c000_0010); !ok || pa != 0x4010 {
		t.Errorf("ckseg: %#x, %t", pa, ok)
	}
	if !x.SameCache(t.Context()) {
		t.Error("the device's cache counts")
	}
}

// TestCircle: a table whose entries all lead to the table itself costs no more than its
// bound.
func TestCircle(t *testing.T) {
	e := tables{}
	for i := range uint64(512) {
		e[0x1000+8*i] = 0x1003
	}
	x := Tables{Scheme: AArch64(12, 48, false), Physical: e.memory(8), Root: 0x1000}
	if got, err := x.Mappings(t.Context(), 0); err == nil && len(got) < maxMappings {
		t.Errorf("%d mappings without an error", len(got))
	}
}

func FuzzMappings(f *testing.F) {
	f.Add([]byte("\x03\x10\x00\x00\x00\x00\x00\x00"), uint8(0))
	f.Add([]byte("\x01\x00\x00\x00"), uint8(5)) // a pointer to a table in a table of the last level
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		schemes := []Scheme{AArch64(12, 39, false), X8632(true), X8632(false), ARM(), LPAE(), RISCV(2), MIPS(4, 12, 9, 0), MIPS(8, 14, 9, 0)}
		var b target.Builder
		b.Add(0, data, 0, 0)
		x := Tables{Scheme: schemes[int(n)%len(schemes)], Physical: b.Memory(&cpu.Arch{AddrSize: 8})}
		_, _ = x.Mappings(t.Context(), 0)
		_, _ = x.Translate(0xffff_ffff_8000_1234)
	})
}

// TestLookup: a page that the kernel keeps elsewhere is not one that is mapped to nothing. A process of ARM is looked up in Linux's own
// tables, 2 KB before the processor's, which lack a page that was not used for a while.
func TestLookup(t *testing.T) {
	for _, c := range []struct {
		name    string
		scheme  Scheme
		entries tables
		want    map[uint64]State
	}{
		{"x86-64", X8664(4).User(), tables{0x1000: 0x2007, 0x2000: 0x3007, 0x3000: 0x4007, 0x4008: 0x5007, 0x4010: 0x1_2340_0000},
			map[uint64]State{0: Unmapped, 0x1000: Mapped, 0x2000: Kept, 0x20_0000: Unmapped, 1 << 47: Unmapped}},
		{"arm64", AArch64(12, 48, false).User(), tables{0x1000: 0x2003, 0x2000: 0x3003, 0x3000: 0x4003, 0x4008: 0x5703, 0x4010: 0x1234_5600},
			map[uint64]State{0: Unmapped, 0x1000: Mapped, 0x2000: Kept, 0x20_0000: Unmapped, 1 << 48: Unmapped}},
		{"arm", ARM().User(), tables{0x1000: 0x4801, 0x4004: 0x5003, 0x4008: 0x7_0000},
			map[uint64]State{0: Unmapped, 0x1000: Mapped, 0x2000: Kept, 0x10_0000: Unmapped}},
	} {
		x := Tables{Scheme: c.scheme, Physical: c.entries.memory(c.scheme.EntrySize), Root: 0x1000}
		for va, want := range c.want {
			if pa, got := x.Lookup(va); got != want || got == Mapped && pa != 0x5000 {
				t.Errorf("%s, %#x: state %d at %#x, want %d", c.name, va, got, pa, want)
			}
		}
	}
}
