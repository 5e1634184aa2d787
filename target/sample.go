package target

import "github.com/backsight/backsight/cpu"

// Hold makes m the memory of a program of which nothing was captured but data, at target
// address addr: a copy of a stack. What m held before is gone. data is not copied. Once m
// has held anything, Hold allocates nothing: samplers use one Memory for all samples.
func (m *Memory) Hold(arch *cpu.Arch, addr uint64, data []byte) {
	clear(m.segs) // the bytes held before are free to be collected
	b := Builder{segs: m.segs[:0]}
	b.Add(addr, data, 0, PermRead|PermWrite)
	*m = Memory{segs: b.segs, runs: appendRuns(m.runs[:0], b.segs), code: appendCode(m.code[:0], b.segs), big: arch.BigEndian, addr: arch.AddrMask(), word: arch.AddrSize}
}
