package machcore

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// trap reads the exception state of a thread: why the processor left the program the last time,
// which is the program's fault only where an exception is named. The address in there is left
// over from earlier times unless the trap is about memory.
type trap func(r *bin.Reader) (name string, addr uint64, memory bool)

// x86Trap reads x86_EXCEPTION_STATE64 or 32 (mach/i386/_structs.h). Traps are those of the
// processor (Intel SDM volume 3, table 6-1); xnu has numbers above for system calls.
func x86Trap(wide bool) trap {
	return func(r *bin.Reader) (name string, addr uint64, memory bool) {
		number := r.U16()
		r.Skip(2 + 4) // cpu, err
		if addr = uint64(r.U32()); wide {
			addr |= uint64(r.U32()) << 32
		}
		switch number {
		case 0, 4, 5, 16, 19:
			return "EXC_ARITHMETIC", 0, false
		case 1, 3:
			return "EXC_BREAKPOINT", 0, false
		case 6:
			return "EXC_BAD_INSTRUCTION", 0, false
		case 11, 12, 13, 17:
			return "EXC_BAD_ACCESS", 0, false
		case 14:
			return "EXC_BAD_ACCESS", addr, true
		}
		return "", 0, false
	}
}

// arm64Trap reads arm_exception_state64 (mach/arm/_structs.h): the exception class of ESR_EL1 (Arm
// ARM, D24.2.40) tells.
func arm64Trap(r *bin.Reader) (name string, addr uint64, memory bool) {
	addr = r.U64()
	switch class := r.U32() >> 26; class {
	case 0x00, 0x0e:
		return "EXC_BAD_INSTRUCTION", 0, false
	case 0x20, 0x24: // instruction abort, data abort of a program
		return "EXC_BAD_ACCESS", addr, true
	case 0x22, 0x26:
		return "EXC_BAD_ACCESS", 0, false // PC or SP is not aligned
	case 0x2c:
		return "EXC_ARITHMETIC", 0, false
	case 0x30, 0x32, 0x3c:
		return "EXC_BREAKPOINT", 0, false
	}
	return "", 0, false
}

// armTrap reads arm_exception_state: fsr and far of the last abort.
func armTrap(r *bin.Reader) (name string, addr uint64, memory bool) {
	r.Skip(4) // exception
	fsr := r.U32()
	if addr = uint64(r.U32()); fsr == 0 {
		return "", 0, false
	}
	return "EXC_BAD_ACCESS", addr, true
}

// faultOf is why a thread stopped, nil where its exception state tells of no fault.
func faultOf(read trap, r bin.Reader) *target.Fault {
	name, addr, memory := read(&r)
	if r.Err() != nil || name == "" {
		return nil
	}
	return &target.Fault{Name: name, Address: addr, HasAddress: memory}
}
