package riscv

import "github.com/backsight/backsight/cpu"

func (v variant) layouts() map[cpu.Carrier]cpu.Layout {
	return map[cpu.Carrier]cpu.Layout{
		// struct user_regs_struct (Linux uapi/asm/ptrace.h): pc, x1..x31.
		cpu.LinuxPrstatus: v.userRegs(),
		// struct sigcontext (uapi/asm/sigcontext.h) begins with the same.
		cpu.LinuxSigcontext: v.userRegs(),
		cpu.GDBPacket:       v.gdbPacket(),
		cpu.LinuxSwitch:     v.switched(),
		cpu.MinidumpContext: v.minidumpContext(),
	}
}

// count is the number of general registers, x0 included.
func (v variant) count() int {
	if v.embedded {
		return 16
	}
	return 32
}

// userRegs is Linux's order: the PC takes the place of x0.
func (v variant) userRegs() cpu.Layout {
	l := v.general()
	l.Size = 32 * v.word
	l.Slots[0].Reg = PC
	return l
}

// minidumpContext is MDRawContextRISCV and MDRawContextRISCV64: flags and a version of 32 bits each, then Linux's order.
func (v variant) minidumpContext() cpu.Layout {
	l := v.userRegs()
	for i := range l.Slots {
		l.Slots[i].Offset += 8
	}
	l.Size += 8
	return l
}

// gdbPacket is org.gnu.gdb.riscv.cpu: x0..x31, pc. RV32E has half of them.
func (v variant) gdbPacket() cpu.Layout {
	l := v.general()
	at := v.count() * v.word
	l.Size = at + v.word
	l.Slots = append(l.Slots, cpu.Slot{Reg: PC, Offset: at, Size: v.word})
	return l
}

func (v variant) general() cpu.Layout {
	l := cpu.Layout{Slots: make([]cpu.Slot, 0, v.count()+1)} // and a place for PC
	for i := range v.count() {
		l.Slots = append(l.Slots, cpu.Slot{Reg: cpu.Reg(i), Offset: i * v.word, Size: v.word})
	}
	return l
}

// switched is ra, sp and s0 to s11 of struct thread_struct
// (arch/riscv/include/asm/processor.h). The task goes on where ra says.
func (v variant) switched() cpu.Layout {
	var l cpu.Layout
	for i, r := range []cpu.Reg{PC, SP, S0, S1, S2, S2 + 1, S2 + 2, S2 + 3, S2 + 4, S2 + 5, S2 + 6, S2 + 7, S2 + 8, S11} {
		if int(r) < v.count() || r == PC {
			l.Slots = append(l.Slots, cpu.Slot{Reg: r, Offset: i * v.word, Size: v.word})
		}
	}
	l.Size = 14 * v.word
	return l
}
