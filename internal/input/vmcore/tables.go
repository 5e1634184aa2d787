package vmcore

import (
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/target"
)

// The layouts of page tables by what VMCOREINFO says (machine.scheme).

func schemeARM64(t translation, _ uint64, page, vaBits uint) (paging.Scheme, bool) {
	if t1sz, ok := t.info.Number("TCR_EL1_T1SZ"); ok && t1sz >= 12 && t1sz <= 39 {
		vaBits = uint(64 - t1sz)
	}
	if vaBits < 36 || vaBits > 52 {
		vaBits = 48
	}
	return paging.AArch64(page, vaBits, page == 16 || vaBits == 52), true
}

// schemesARM64 are those of arch/arm64/Kconfig, ARM64_VA_BITS.
func schemesARM64() (all []paging.Scheme) {
	for _, c := range [...]struct{ page, bits uint }{{12, 48}, {12, 39}, {14, 48}, {14, 47}, {14, 36}, {16, 48}, {16, 42}, {16, 52}, {12, 52}, {14, 52}} {
		all = append(all, paging.AArch64(c.page, c.bits, c.page == 16 || c.bits == 52))
	}
	return all
}

// skippedARM64 is the part of the first table that is not used: an arm64 kernel for addresses of
// 52 bits with pages of 64 KB has tables for 52 bits also where the processor has 48 only
// (arch/arm64/mm/proc.S, "offset_ttbr1").
func skippedARM64(t translation, s paging.Scheme) uint64 {
	built, _ := t.info.Number("VA_BITS")
	if built != 52 || t.info.PageSize() != 64<<10 || s.Levels[0].Bits != 6 {
		return 0
	}
	return (1<<10 - 1<<6) * 8
}

func schemeX8664(t translation, _ uint64, _, _ uint) (paging.Scheme, bool) {
	if five, _ := t.info.Number("pgtable_l5_enabled"); five != 0 {
		return paging.X8664(5), true
	}
	return paging.X8664(4), true
}

func schemeX8632(t translation, _ uint64, _, _ uint) (paging.Scheme, bool) {
	return paging.X8632(t.info.Has("X86_PAE")), true
}

func schemeARM(t translation, _ uint64, _, _ uint) (paging.Scheme, bool) {
	if t.info.Has("ARM_LPAE") {
		return paging.LPAE(), true
	}
	return paging.ARM(), true
}

func schemeRISCV(t translation, _ uint64, _, vaBits uint) (paging.Scheme, bool) {
	switch {
	case t.arch.AddrSize == 4:
		return paging.RISCV(2), true
	case vaBits == 48:
		return paging.RISCV(4), true
	case vaBits == 57:
		return paging.RISCV(5), true
	}
	return paging.RISCV(3), true
}

func schemeMIPS(t translation, root uint64, page, _ uint) (paging.Scheme, bool) {
	return t.mipsScheme(root, page)
}

const (
	// beforeCode is how far before the kernel's code its tables may lie: ARM has them between the
	// start of memory and the code, which begins at a section's start, of 2 MB with LPAE
	// (arch/arm/kernel/head.S, swapper_pg_dir).
	beforeCode = 4 << 20
	// behindData is how far behind the answer to uname: they are among the kernel's data.
	behindData = 32 << 20
	// maxRoots bounds the tables that are compared.
	maxRoots = 4
)

// rootByContent finds the page tables of the kernel among its data: of those that translate the addresses
// of its code and of its data as they are, those that map most. Others were in use while the kernel
// started.
func (t translation) rootByContent(k identity) (best paging.Tables, ok bool) {
	text, words := t.begin(k), t.words()
	near := target.Range{Lo: (text - min(text, beforeCode)) &^ (pageSize - 1), Hi: target.RangeOf(k.at, behindData).Hi}
	roots, most := 0, uint64(0)
	for _, s := range machineOf(t.arch).schemes {
		for root := range near.Words(pageSize) {
			if roots == maxRoots || t.ctx.Err() != nil {
				break
			}
			tables := paging.Tables{Scheme: s, Physical: words, Root: root}
			if !t.translates(&tables, k) {
				continue
			}
			roots++
			if n := t.mapped(&tables); n > most {
				best, most = tables, n
			}
		}
	}
	return best, most > 0
}

// begin is the physical address at which the kernel begins, or its data where its code is not known.
func (t translation) begin(k identity) uint64 {
	if k.text.Hi == 0 {
		return k.at &^ (pageSize - 1)
	}
	return (k.text.Lo - k.offset) & t.arch.AddrMask()
}

// translates tells whether tables show the kernel's code and its data where they are.
func (t translation) translates(tables *paging.Tables, k identity) bool {
	for _, va := range []uint64{k.at + k.offset, k.text.Lo + (k.text.Hi-k.text.Lo)/2} {
		va &= t.arch.AddrMask()
		if pa, ok := tables.Translate(va); !ok || pa != (va-k.offset)&t.arch.AddrMask() {
			return false
		}
	}
	return true
}

// mapped is how much of the memory tables show in the kernel's half of the address space.
func (t translation) mapped(tables *paging.Tables) (n uint64) {
	mappings, _ := tables.Mappings(t.ctx, t.lowest())
	for _, m := range mappings {
		if _, ok := t.physical.PermAt(m.Physical); ok {
			n += m.Size
		}
	}
	return n
}

// mipsRoot finds the first table of a MIPS kernel among its data: pgd_init fills that with the
// address of one empty table, and the tables of what is mapped take the places of few entries
// (arch/mips/mm/pgtable-32.c, pgtable-64.c).
func (t translation) mipsRoot(k identity) (uint64, bool) {
	word, words := uint64(t.arch.AddrSize), t.words()
	near := target.Range{Lo: t.begin(k), Hi: target.RangeOf(k.at, behindData).Hi}
	for root := range near.Words(pageSize) {
		if t.ctx.Err() != nil {
			break
		}
		empty, ok := words.Word(root)
		if word == 4 {
			empty, ok = words.Uint(root, 4)
		}
		if pa := (empty - k.offset) & t.arch.AddrMask(); !ok || empty%pageSize != 0 || pa-root+behindData > 2*behindData || pa == root {
			continue
		}
		same := 0
		for at := range target.RangeOf(root, pageSize).Words(word) {
			if v, ok := words.Uint(at, int(word)); ok && v == empty {
				same++
			}
		}
		if same*int(word)*2 > pageSize {
			return root, true
		}
	}
	return 0, false
}
