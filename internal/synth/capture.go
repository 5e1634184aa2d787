package synth

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Module is a mapped image that consists of one executable segment.
func Module(arch *cpu.Arch, addr uint64, code []byte) *target.Module {
	img := image.New(image.Header{Path: "code", Arch: arch, Segments: []image.Segment{
		{Addr: addr, Size: uint64(len(code)), Data: code, Read: true, Exec: true},
	}}, nil)
	return &target.Module{Name: "code", Range: target.Range{Lo: addr, Hi: addr + uint64(len(code))}, Image: img}
}

// Capture is a stopped program with these modules and this memory.
func Capture(arch *cpu.Arch, modules []*target.Module, memory ...Placed) *target.Snapshot {
	var b target.Builder
	for _, p := range memory {
		b.Add(p.Base, p.Data, 0, target.PermUnknown)
	}
	s := &target.Snapshot{Arch: arch, Memory: b.Memory(arch), Modules: modules}
	s.SortModules()
	return s
}

// Regs is a register file with the given values by name.
func Regs(arch *cpu.Arch, values map[string]uint64) *cpu.Registers {
	regs := new(cpu.Registers)
	for name, v := range values {
		r, ok := arch.RegByName(name)
		if !ok {
			panic("synth: no register " + name)
		}
		regs.Set(r, v)
	}
	return regs
}
