package minidump

import (
	"context"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Sizes of MINIDUMP_MEMORY_DESCRIPTOR and MINIDUMP_MEMORY_DESCRIPTOR64.
const memorySize, memory64Size = 16, 16

// run is some memory that a dump holds.
type run struct {
	addr uint64
	data []byte
}

// captured is the memory that the dump itself holds: the stacks of threads, the list of memory, and the list of a dump of all
// memory, whose bytes lie one behind the other.
func (d *dump) captured() (runs []run) {
	for r := range d.entries(threadList, threadSize) {
		if !d.room.ranges.Draw(1) {
			return runs
		}
		t := readThread(&r)
		runs = append(runs, run{t.from, d.at(t.stack)})
	}
	for r := range d.entries(memoryList, memorySize) {
		if !d.room.ranges.Draw(1) {
			return runs
		}
		runs = append(runs, run{r.U64(), d.at(readLocation(&r))})
	}
	return d.captured64(runs)
}

// captured64 appends the memory of a dump of all memory.
func (d *dump) captured64(runs []run) []run {
	r := bin.New(d.stream(memory64List), d.big)
	n, at := r.U64(), r.U64()
	for ; n > 0 && r.Len() >= memory64Size && at < uint64(len(d.data)) && d.room.ranges.Draw(1); n-- {
		addr, size := r.U64(), r.U64()
		rest := d.data[at:]
		rest = rest[:bin.Limit(size, len(rest))]
		runs = append(runs, run{addr, rest})
		at += uint64(len(rest))
	}
	return runs
}

// memoryOf is what was captured, over the pages of the modules' files that nobody can have written to.
func memoryOf(ctx context.Context, arch *cpu.Arch, runs []run, modules []*target.Module) *target.Memory {
	var b target.Builder
	b.Until(ctx)
	for _, m := range modules {
		b.AddConstant(m)
	}
	b.Grow(len(runs))
	for _, r := range runs {
		b.Add(r.addr&arch.AddrMask(), r.data, 0, target.PermUnknown)
	}
	return b.Memory(arch)
}
