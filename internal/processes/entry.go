package processes

import (
	"fmt"
	"sort"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// userMode says how struct pt_regs of a processor (arch/*/include/asm/ptrace.h) tells that a program was interrupted: the bits of mask
// in the word at an offset are want.
type userMode struct {
	cpu        string // cpu.Arch.Name
	at         uint64 // on a processor whose words have size bytes
	size       int
	mask, want uint64
	inStatus   bool // the word is a register, see statusOf
	// cause is where the cause of an exception is, of which a system call keeps the registers that functions preserve as they are: they
	// are where the kernel's functions saved them.
	cause uint64
}

// userModes are those of the processors.
func userModes() []userMode {
	return []userMode{
		{cpu: "aarch64", at: 264, size: 8, mask: 0xffff_ffff_0000_000f, inStatus: true}, // pstate: EL0
		{cpu: "x86_64", at: 136, size: 8, mask: 0xffff_ffff_ffff_0003, want: 3},         // cs: ring 3
		{cpu: "i386", at: 52, size: 4, mask: 3, want: 3},                                // xcs
		{cpu: "arm", at: 64, size: 4, mask: 0x1f, want: 0x10, inStatus: true},           // cpsr: User mode
		{cpu: "riscv64", at: 256, size: 8, mask: 0x100},                                 // status: SPP
		{cpu: "riscv32", at: 128, size: 4, mask: 0x100},
		{cpu: "mips", at: 160, size: 4, mask: 0x18, want: 0x10, cause: 176}, // cp0_status: KSU
		{cpu: "mips64", at: 256, size: 8, mask: 0x18, want: 0x10, cause: 288},
	}
}

const (
	// aboveRegs bounds what is on a stack above pt_regs: what one kernel or another appends to them, room for arguments.
	aboveRegs = 256
	// syscallCause is the exception code of a system call of MIPS (MD00090, Cause.ExcCode).
	syscallCause = 8
)

// findRegisters finds how far below the top of stacks the registers of programs are: where most tasks have some of user mode, with a PC
// in code of their program and a stack pointer in its memory.
func (f *finder) findRegisters(found []Process, list []tasks.Task) {
	var ok bool
	if f.layout, ok = f.Arch.Layouts[cpu.LinuxEntry]; !ok {
		f.layout = f.Arch.Layouts[cpu.LinuxPrstatus]
	}
	for _, m := range userModes() {
		if m.cpu == f.Arch.Name {
			f.user = m
		}
	}
	if f.user.size == 0 {
		return
	}
	best, most, total := uint64(0), 0, 0
	for below := f.user.at; below < uint64(f.layout.Size)+aboveRegs && f.ctx.Err() == nil; below += f.word {
		n := 0
		total = 0
		for i := range found {
			for _, t := range found[i].Tasks {
				if total++; total > maxVoters {
					break
				}
				if _, ok := f.registers(&found[i], &list[t], below); ok {
					n++
				}
			}
		}
		if n > most {
			best, most = below, n
		}
	}
	if most == 0 || most*2 < min(total, maxVoters) {
		return
	}
	for i := range found {
		p := &found[i]
		p.Below = best
		p.Regs = make([]cpu.Registers, len(p.Tasks))
		for k, t := range p.Tasks {
			p.Regs[k], _ = f.registers(p, &list[t], best)
		}
	}
}

// registers reads the registers of a program that lie a number of bytes below the top of a task's stack; false where they are none.
func (f *finder) registers(p *Process, t *tasks.Task, below uint64) (regs cpu.Registers, ok bool) {
	block := make([]byte, f.layout.Size)
	block = block[:min(uint64(len(block)), below)]
	if t.Stack.Lo == 0 || f.Memory.Read(t.Stack.Hi-below, block) < len(block) {
		return regs, false
	}
	status, ok := f.Memory.Uint(t.Stack.Hi-below+f.user.at, f.user.size)
	if !ok || status&f.user.mask != f.user.want {
		return regs, false
	}
	arch := f.Arch
	if regs = arch.Read(f.layout, block); p.Word < int(f.word) {
		if arch = f.Compat; arch == nil {
			return cpu.Registers{}, false
		}
		regs = narrow(&regs, f.Arch, arch)
	}
	if pc, _ := arch.SplitCode(regs.Val[arch.PC]); !p.Runs(pc, regs.Val[arch.SP]) {
		return cpu.Registers{}, false
	}
	cause, _ := f.Memory.Uint(t.Stack.Hi-below+f.user.cause, 4)
	if f.Lazy || f.user.cause != 0 && cause>>2&0x1f == syscallCause {
		regs.Known &^= arch.Preserved
	}
	return regs, true
}

// Running are the registers of a program whose task ran, by those of its processor; false where that stood in the kernel. The bits of the
// status tell, where the processor has such a register, else where it stood.
func (k *Kernel) Running(p *Process, regs *cpu.Registers) (cpu.Registers, bool) {
	own, arch := *regs, k.Arch
	if p.Word < arch.AddrSize {
		if arch = k.Compat; arch == nil || !regs.Known.Has(k.Arch.PC) {
			return own, false
		}
		own = narrow(regs, k.Arch, arch)
	}
	pc, known := own.Lookup(arch.PC)
	pc, _ = arch.SplitCode(pc)
	status, has := regs.Lookup(statusOf(k.Arch))
	for _, m := range userModes() {
		if m.cpu == k.Arch.Name && m.inStatus && has {
			return own, known && status&m.mask == m.want
		}
	}
	return own, known && p.Runs(pc, own.Val[arch.SP])
}

// pstate is AArch64's status, which tells no instruction set.
const pstate = "pstate"

// statusOf is the register with a processor's mode, cpu.NoReg where there is none.
func statusOf(arch *cpu.Arch) cpu.Reg {
	if r, ok := arch.RegByName(pstate); ok {
		return r
	}
	return arch.Status
}

// narrow are the registers of a 32-bit program as its own processor calls them: AArch64 has ARM's r0 to r14 in x0 to x14
// (DDI 0487, G1.9.1), x86-64 eax in rax.
func narrow(wide *cpu.Registers, from, to *cpu.Arch) (regs cpu.Registers) {
	for i := range to.Regs {
		r, name := cpu.Reg(i), to.Regs[i].Names[0]
		source := name
		switch {
		case r == to.PC:
			source = from.Regs[from.PC].Names[0]
		case r == to.Status:
			source = pstate
		case to.Name == "arm" && i < 15:
			source = fmt.Sprint("x", i)
		case to.Name == "i386":
			source = "r" + strings.TrimPrefix(name, "e")
		}
		if s, ok := from.RegByName(source); ok && wide.Known.Has(s) && to.Regs[i].Size <= 4 {
			regs.Set(r, wide.Val[s]&to.AddrMask())
		}
	}
	return regs
}

// Runs tells whether a program may stand at a PC with a stack pointer: in memory that is mapped, and may be executed and written.
func (p *Process) Runs(pc, sp uint64) bool {
	return p.permAt(pc)&target.PermExec != 0 && p.permAt(sp-1)&target.PermWrite != 0
}

// permAt is what may be done at an address, 0 where nothing is mapped.
func (p *Process) permAt(addr uint64) target.Perm {
	i := sort.Search(len(p.Maps), func(i int) bool { return p.Maps[i].Hi > addr })
	if i < len(p.Maps) && p.Maps[i].Contains(addr) {
		return p.Maps[i].Perm
	}
	return 0
}
