package cpu

// Carrier is a kind of capture that stores a register file as a block of bytes.
type Carrier uint8

const (
	// LinuxPrstatus is pr_reg of NT_PRSTATUS (elf_gregset_t).
	LinuxPrstatus Carrier = iota
	// LinuxSigcontext is the mcontext of a signal frame, offsets from the start
	// of the struct that the internal/unwind/sigframe table says.
	LinuxSigcontext
	// GDBPacket is the reply to the remote protocol's g packet.
	GDBPacket
	// CortexMFrame is the basic frame that exception entry stacks.
	CortexMFrame
	// DarwinThread is the thread state of Darwin's Mach kernel (mach/i386/_structs.h,
	// mach/arm/_structs.h): in the LC_THREAD of a core, and in the mcontext of a signal frame.
	DarwinThread
	// LinuxSwitch is what Linux keeps of a task that is switched out: struct cpu_context, the
	// first fields of struct thread_struct, or, where the layout has no stack pointer, struct
	// inactive_task_frame on top of the task's stack. The PC is a return address.
	LinuxSwitch
	// LinuxEntry is what Linux saves of a program that enters the kernel, struct pt_regs, where that begins otherwise than
	// LinuxPrstatus does.
	LinuxEntry
	// MinidumpContext is the CONTEXT of a minidump, as Windows has it, and as Breakpad made it up for other processors
	// (google_breakpad/common/minidump_cpu_*.h).
	MinidumpContext
	// NetBSDRegs and FreeBSDRegs are struct reg of these systems (sys/arch/*/include/reg.h; sys/*/include/reg.h).
	NetBSDRegs
	FreeBSDRegs
)

// Slot says where one register lies in a carrier's block.
type Slot struct {
	Reg    Reg
	Offset int
	Size   int
}

// Layout is a carrier's register block: its total Size and the known slots.
type Layout struct {
	Size  int
	Slots []Slot
}

// Micro tells whether a is of ARM's microcontroller profile, whose exceptions push a frame.
func (a *Arch) Micro() bool {
	_, ok := a.Layouts[CortexMFrame]
	return ok
}

// Read decodes the registers of a block laid out as l. Slots outside block stay
// unknown.
func (a *Arch) Read(l Layout, block []byte) Registers {
	var regs Registers
	for _, s := range l.Slots {
		if s.Offset < 0 || s.Offset+s.Size > len(block) {
			continue
		}
		var v uint64
		for i := range s.Size {
			b := block[s.Offset+i]
			if a.BigEndian {
				v = v<<8 | uint64(b)
			} else {
				v |= uint64(b) << (8 * i)
			}
		}
		regs.Set(s.Reg, v)
	}
	return regs
}
