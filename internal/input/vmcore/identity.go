package vmcore

import (
	"bytes"
	"context"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// identify finds out which kernel the memory is of: VMCOREINFO, from its note or where it
// lies in memory, and init_uts_ns, the answer to uname, which lies at an address that
// VMCOREINFO says. The distance of virtual and physical address is that of the whole kernel.
//
// Where that says nothing, the kernel is found by its contents.
//
// There may be several: a kernel for MIPS that moves itself away (CONFIG_RELOCATABLE) leaves
// all its data where it was loaded. Only one of them has live data.
func (d *dump) identify(ctx context.Context, archs cpu.Set) (all []identity, err error) {
	virtual, ok := uint64(0), d.findInfo(ctx)
	if ok {
		virtual, ok = d.info.Symbol("init_uts_ns")
	}
	if !ok {
		if d.shown != nil {
			return nil, d.errorf("no VMCOREINFO was found, or no place of init_uts_ns in it")
		}
		if all = d.byContent(ctx, archs); len(all) == 0 {
			return nil, d.errorf("no Linux kernel was found: neither VMCOREINFO nor a kernel's data and code")
		}
		d.takeProcessors()
		return all, nil
	}
	name, ok := d.info.Offset("uts_namespace.name")
	if !ok {
		name = sizeofKref
	}
	if all = d.identities(ctx, virtual+name); len(all) == 0 {
		return nil, d.errorf("the kernel %s that VMCOREINFO tells of is not in the memory", d.info.Release())
	}
	if d.arch == nil {
		d.arch = d.archOf(archs, all)
	}
	if d.arch == nil {
		return nil, d.errorf("a kernel for %q, which is not supported", all[0].machine)
	}
	if d.shown == nil { // the registers in /proc/kcore are nobody's
		d.takeProcessors()
	}
	for i := range all {
		all[i].offset &= d.arch.AddrMask()
	}
	return all, nil
}

// findInfo finds VMCOREINFO, and tells whether there is one.
func (d *dump) findInfo(ctx context.Context) bool {
	if d.info == nil {
		d.info = d.infoNote()
	}
	if d.info == nil && d.shown == nil {
		search(ctx, d.physical, vmcoreinfo.Key, func(at uint64) bool {
			d.info = vmcoreinfo.Parse(bytesAt(d.physical, at, maxInfo))
			return d.info == nil
		})
	}
	return d.info != nil
}

// identities finds the kernels whose answer to uname lies at a virtual address: where the program
// headers of /proc/kcore show that, elsewhere wherever it lies in physical memory.
func (d *dump) identities(ctx context.Context, virtual uint64) (all []identity) {
	add := func(at uint64) bool {
		uts := bytesAt(d.physical, at, utsSize)
		if len(uts) == utsSize && field(uts, 0) == "Linux" && field(uts, 2) == d.info.Release() && (virtual-at)%pageSize == 0 {
			all = append(all, identity{machine: field(uts, 4), offset: virtual - at, at: at})
		}
		return len(all) < maxCopies
	}
	if at, ok := d.shownAt(virtual); ok {
		add(at)
	} else if d.shown == nil {
		search(ctx, d.physical, "Linux\x00", add)
	}
	return all
}

// maxCopies bounds the copies of a kernel's data that are tried.
const maxCopies = 4

// identity is a kernel's.
type identity struct {
	machine string // of uname -m
	// offset is virtual minus physical address of what the kernel links in.
	offset uint64
	at     uint64 // the physical address of the kernel's data
	// text is the kernel's code by virtual addresses, where it was found by its contents; else
	// VMCOREINFO says where it begins.
	text target.Range
}

const (
	maxInfo  = 64 << 10
	pageSize = 4096
	// struct new_utsname has six fields of 65 bytes: sysname, nodename, release, version,
	// machine, domainname (include/uapi/linux/utsname.h).
	utsField = 65
	utsSize  = 6 * utsField
	// sizeofKref is what lies before the name in struct uts_namespace until Linux 5.10, whose
	// VMCOREINFO does not say so (include/linux/utsname.h).
	sizeofKref = 4
)

// field is a string of struct new_utsname.
func field(uts []byte, i int) string {
	f := uts[i*utsField : (i+1)*utsField]
	n := bytes.IndexByte(f, 0)
	return string(f[:max(n, 0)])
}

// archOf finds the processor by what uname calls it. In which byte order the kernel ran,
// the kernel's own pointers tell: VMCOREINFO says where some of its data lie, around which
// are others.
func (d *dump) archOf(archs cpu.Set, copies []identity) (best *cpu.Arch) {
	name := copies[0].machine
	if name == "mips" && len(d.info["SYMBOL(_stext)"]) > 8 {
		name = "mips64"
	}
	most := -1
	for _, big := range []bool{false, true} {
		a := archNamed(archs, name, big)
		if a == nil {
			continue
		}
		n := 0
		for _, k := range copies {
			n = max(n, pointers(d.physical, a, k))
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// archNamed is the processor that uname -m calls by a name, nil where none is known.
func archNamed(archs cpu.Set, name string, big bool) *cpu.Arch {
	abi := ""
	switch {
	case name == "mips":
		abi = "o32"
	case name == "mips64":
		abi = "n64"
	case strings.HasPrefix(name, "armv") && big:
		name, abi = "arm", "be8"
	case strings.HasPrefix(name, "armv"):
		name = "arm"
	case len(name) == 4 && name[0] == 'i' && name[2:] == "86":
		name = "i386"
	case name == "riscv64":
		abi = "lp64d"
	case name == "riscv32":
		abi = "ilp32d"
	case name == "aarch64_be":
		name = "aarch64"
	}
	a, ok := archs.ByName(name, abi, big)
	if !ok {
		return nil
	}
	return a
}

// pointers counts the words around the kernel's data that are pointers to near by, in the
// byte order of an ABI.
func pointers(physical *target.Memory, a *cpu.Arch, k identity) (n int) {
	const reach = 1 << 20
	here := (k.at + k.offset) & a.AddrMask()
	from := k.at &^ 0xf
	around := target.Range{Lo: from - min(from, reach), Hi: target.RangeOf(from, reach).Hi}
	for at := range around.Words(uint64(a.AddrSize)) {
		v := uint64(0)
		for i, c := range bytesAt(physical, at, a.AddrSize) {
			if a.BigEndian {
				v = v<<8 | uint64(c)
			} else {
				v |= uint64(c) << (8 * i)
			}
		}
		if v-here+16*reach < 32*reach && v%4 == 0 {
			n++
		}
	}
	return n
}
