package minidump

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Sizes of MINIDUMP_MEMORY_DESCRIPTOR and MINIDUMP_MEMORY_DESCRIPTOR64.
const memorySize, memory64Size = 16, 16

// addCaptured adds what the dump holds of memory to b: the stacks of threads, the list of memory, and the list of a dump of
// all memory, whose bytes lie one behind the other.
func (d *dump) addCaptured(b *target.Builder, arch *cpu.Arch) {
	mask := arch.AddrMask()
	for r := range d.entries(threadList, threadSize) {
		t := readThread(&r)
		b.Add(t.from&mask, d.at(t.stack), 0, target.PermUnknown)
	}
	for r := range d.entries(memoryList, memorySize) {
		addr, l := r.U64(), readLocation(&r)
		b.Add(addr&mask, d.at(l), 0, target.PermUnknown)
	}
	r := bin.New(d.stream(memory64List), d.big)
	n, at := r.U64(), r.U64()
	for ; n > 0 && r.Len() >= memory64Size && at < uint64(len(d.data)); n-- {
		addr, size := r.U64(), r.U64()
		rest := d.data[at:]
		b.Add(addr&mask, rest[:bin.Limit(size, len(rest))], 0, target.PermUnknown)
		at += min(size, uint64(len(rest)))
	}
}

// captured is the memory that the dump itself holds.
func (d *dump) captured(arch *cpu.Arch) *target.Builder {
	b := new(target.Builder)
	d.addCaptured(b, arch)
	return b
}

// memory is what was captured, over the pages of the modules' files that nobody can have written to.
func (d *dump) memory(arch *cpu.Arch, modules []*target.Module) *target.Memory {
	var b target.Builder
	for _, m := range modules {
		b.AddConstant(m)
	}
	d.addCaptured(&b, arch)
	return b.Memory(arch)
}
