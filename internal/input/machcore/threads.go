package machcore

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// flavors are the kinds of thread state of a processor (mach/i386/thread_status.h,
// mach/arm/thread_status.h).
type flavors struct {
	cpu cpu.MachOType
	// general registers, and the state of an exception.
	general, exception uint32
	trap               trap
	// nested: a state of this flavor begins with the flavor and the count of another.
	nested uint32
}

func flavorsOf(t cpu.MachOType) *flavors {
	for _, f := range [...]flavors{
		{cpu: 0x0100_0007, general: 4, exception: 6, trap: x86Trap(true), nested: 7},
		{cpu: 7, general: 1, exception: 3, trap: x86Trap(false), nested: 7},
		{cpu: 0x0100_000c, general: 6, exception: 7, trap: arm64Trap},
		{cpu: 0x0200_000c, general: 6, exception: 7, trap: arm64Trap},
		{cpu: 12, general: 1, exception: 3, trap: armTrap},
	} {
		if f.cpu == t {
			return &f
		}
	}
	return nil
}

// state is what an LC_THREAD says.
type state struct {
	regs  cpu.Registers
	fault *target.Fault // nil: none
}

// readThread reads the states of a thread: a flavor, a count of 32-bit words, the words.
func readThread(arch *cpu.Arch, body []byte) (s state) {
	f := flavorsOf(arch.MachO)
	for r := bin.New(body, arch.BigEndian); f != nil && r.Len() >= 8; {
		flavor, count := r.U32(), uint64(r.U32())
		block := r.Bytes(4 * count)
		if r.Err() != nil {
			break
		}
		if flavor == f.nested && f.nested != 0 && len(block) >= 8 {
			inner := bin.New(block, arch.BigEndian)
			flavor = inner.U32()
			block = block[8:]
		}
		switch flavor {
		case f.general:
			s.regs = arch.Read(arch.Layouts[cpu.DarwinThread], block)
		case f.exception:
			s.fault = faultOf(f.trap, bin.New(block, arch.BigEndian))
		}
	}
	return s
}

// threads decodes all threads. The one that crashed is the first whose exception state tells of a
// fault, else the first.
func (c *core) threads() []target.Thread {
	list := make([]target.Thread, 0, len(c.commands.threads)) // at most maxThreads
	crashed, lost := 0, 0
	for i, body := range c.commands.threads {
		s := readThread(c.arch, body)
		if _, ok := s.regs.Lookup(c.arch.PC); !ok {
			lost++
			continue
		}
		if s.fault != nil && c.fault == nil {
			crashed = len(list)
			c.fault = s.fault
			c.fault.Thread = i
		}
		list = append(list, target.Thread{ID: i, Regs: s.regs})
	}
	if lost > 0 {
		c.issue("%s: %d of %d threads have no general registers", c.name, lost, len(c.commands.threads))
	}
	if len(list) > 0 {
		list[crashed].Crashed = true
	}
	return list
}
