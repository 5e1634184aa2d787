package vmcore

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/paging"
)

// machine is what Linux has on the machines of a processor, beside registers and instructions.
type machine struct {
	cpu   string   // cpu.Arch.Name
	modes cpu.Mode // in how many modes a kernel's code may be
	// mips: segments of the address space show physical memory without page tables, the first table is known by what
	// the kernel fills it with, and uname does not tell the release of the instruction set.
	mips bool
	// scheme is how page tables are laid out, the first of which has the physical address root, by VMCOREINFO.
	// page and vaBits are the bits of an address within a page, and those that VMCOREINFO has for all, 0 for none.
	scheme func(t translation, root uint64, page, vaBits uint) (paging.Scheme, bool)
	// skipped is how many bytes of the first table are not used; nil: none.
	skipped func(t translation, s paging.Scheme) uint64
	// compat is e_machine of the 32-bit programs that a 64-bit kernel runs, 0 for none.
	compat uint16
	// schemes are the layouts that a kernel may use, where VMCOREINFO does not tell.
	schemes []paging.Scheme
	// isVector tells whether an exception vector begins at an address; nil: no vector is known.
	isVector func(v *view, arch *cpu.Arch, pc uint64) bool
}

// machines are those whose memory is read, a row for each processor.
func machines() []machine {
	return []machine{
		{cpu: "aarch64", modes: 1, compat: 40, scheme: schemeARM64, skipped: skippedARM64, schemes: schemesARM64(), isVector: vectorARM64},
		{cpu: "x86_64", modes: 1, compat: 3, scheme: schemeX8664, schemes: []paging.Scheme{paging.X8664(4), paging.X8664(5)}},
		{cpu: "i386", modes: 1, scheme: schemeX8632, schemes: []paging.Scheme{paging.X8632(true), paging.X8632(false)}},
		{cpu: "arm", modes: 2, scheme: schemeARM, schemes: []paging.Scheme{paging.ARM(), paging.LPAE()}},
		{cpu: "riscv64", modes: 1, scheme: schemeRISCV, schemes: []paging.Scheme{paging.RISCV(3), paging.RISCV(4), paging.RISCV(5)}, isVector: vectorRISCV},
		{cpu: "riscv32", modes: 1, scheme: schemeRISCV, schemes: []paging.Scheme{paging.RISCV(2)}, isVector: vectorRISCV},
		{cpu: "mips", modes: 1, mips: true, scheme: schemeMIPS, isVector: vectorMIPS},
		{cpu: "mips64", modes: 1, compat: 8, mips: true, scheme: schemeMIPS, isVector: vectorMIPS},
	}
}

// machineOf is the row of a processor; of one without a row nothing is known.
func machineOf(arch *cpu.Arch) machine {
	all := machines()
	if i := slices.IndexFunc(all, func(m machine) bool { return m.cpu == arch.Name }); i >= 0 {
		return all[i]
	}
	return machine{modes: 1}
}
