package kallsyms

import (
	"math"
	"slices"
)

// addresses finds the addresses of the symbols, before kallsyms_num_syms or behind
// kallsyms_token_index; nil where neither is an ascending table.
func (f *finder) addresses() *Table {
	n := len(f.starts)
	align := func(at int) int { return at &^ (f.word - 1) }
	behind := align(f.tok.end + f.word - 1)
	base := align(f.numAt - f.word)
	baseBehind := align(behind + 4*n + f.word - 1)
	if addrs := f.relative(align(base-4*n), base); addrs != nil {
		return f.table(addrs, base)
	}
	if addrs := f.relative(behind, baseBehind); addrs != nil {
		return f.table(addrs, baseBehind)
	}
	for _, at := range []int{align(f.numAt) - f.word*n, behind} {
		if addrs := f.absolute(at); addrs != nil {
			return f.table(addrs, 0)
		}
	}
	return f.fromEntries((f.tok.end + 3) &^ 3)
}

// fromEntries reads n offsets that count from where each of them lies (Linux 7, kallsyms_sym_address:
// offset_to_ptr): a table whose addresses count from the data's first byte. There is no base, and nothing that the
// kernel must relocate:
//
//	0x1533594  feacca6c   the symbol at 0
//	0x1533598  feaccaa8   0x40
//	0x153359c  feaccaa8   0x44
func (f *finder) fromEntries(at int) *Table {
	n := len(f.starts)
	if at < 0 || at+4*n > len(f.data) {
		return nil
	}
	addrs := make([]uint64, n)
	last := int64(math.MinInt64)
	for i := range addrs {
		entry := at + 4*i
		addr := int64(entry) + int64(int32(f.order.Uint32(f.data[entry:])))
		if addr < last {
			return nil
		}
		addrs[i], last = uint64(addr), addr
	}
	if addrs[0] == addrs[n-1] {
		return nil
	}
	t := f.table(addrs, 0)
	t.Relative, t.FromData, t.Entries = false, true, at
	return t
}

// relative reads n offsets, and the base that they count from. With
// CONFIG_KALLSYMS_ABSOLUTE_PERCPU those of the kernel's code are negative, and count down
// from the base − 1, while positive ones are addresses themselves (kernel/kallsyms.c,
// kallsyms_sym_address).
func (f *finder) relative(at, base int) []uint64 {
	n := len(f.starts)
	if at < 0 || base < 0 || at+4*n > len(f.data) || base+f.word > len(f.data) {
		return nil
	}
	start, negative := f.uint(base), 0
	addrs := make([]uint64, n)
	for i := range addrs {
		v := int32(f.order.Uint32(f.data[at+4*i:]))
		addrs[i] = start + uint64(uint32(v))
		if v < 0 {
			negative++
		}
	}
	if negative > n/2 {
		for i := range addrs {
			v := int32(f.order.Uint32(f.data[at+4*i:]))
			if addrs[i] = uint64(int64(v)); v < 0 {
				addrs[i] = start - 1 - uint64(int64(v))
			}
		}
	}
	return f.ascending(addrs)
}

// absolute reads n words.
func (f *finder) absolute(at int) []uint64 {
	n := len(f.starts)
	if at < 0 || at+f.word*n > len(f.data) {
		return nil
	}
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = f.uint(at + f.word*i)
	}
	return f.ascending(addrs)
}

func (f *finder) uint(at int) uint64 {
	if f.word == 4 {
		return uint64(f.order.Uint32(f.data[at:]))
	}
	return f.order.Uint64(f.data[at:])
}

// ascending returns addresses of a kernel of 32 bits within 32 bits, nil where they do not
// ascend, or are all the same.
func (f *finder) ascending(addrs []uint64) []uint64 {
	if f.word == 4 {
		for i := range addrs {
			addrs[i] &= 0xffff_ffff
		}
	}
	if !slices.IsSorted(addrs) || addrs[0] == addrs[len(addrs)-1] {
		return nil
	}
	return addrs
}

// table makes the table. The address 0 is that of the first symbol where the base is filled
// in by a relocation only.
func (f *finder) table(addrs []uint64, base int) *Table {
	t := &Table{named: new(index), addrs: addrs, refs: make([]uint32, len(addrs)), BaseOffset: base}
	names := f.names
	t.names = &names
	for i, s := range f.starts {
		t.refs[i] = uint32(s)
	}
	last := addrs[len(addrs)-1]
	t.Relative = f.word == 8 && last>>32 == 0
	return t
}
