package exception

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// RISC-V and MIPS push nothing when they trap: the entry of the handler, assembly, decides
// where the registers go and on which stack the handler runs. Where the interrupted PC comes
// from is the same in all of them: the CSR xepc is read (privileged specification, 3.1.14),
// or EPC of coprocessor 0 (MD00090, 9.25). So code that reads the exception PC, and calls, is
// the place to step out of; entry.go finds what was saved.
//
//	addi sp,sp,-128       ESP32-C, _panic_handler; vendors' SDKs with one stack
//	sw   ra,0(sp) …
//	csrr t0,mepc
//	sw   t0,124(sp)
//	call handler
//
//	csrrw sp,mscratch,sp  a stack for handlers
//	sw   ra,4(sp) …
//	csrr t0,mscratch
//	sw   t0,8(sp)         the interrupted SP
//
//	mfc0  k0,c0_epc       FreeRTOS, PIC32MX: SP is kept in s5
//	sw    k0,124(sp)
//	move  s5,sp
//
//	srsdb sp!,#31         Cortex-R and Cortex-A: banked.go
//	cps   #31
//
// The ways out of an entry, which package internal/unwind/code follows, tell less in firmware
// than in a kernel: there the handler returns the stack pointer of the task that goes on, which
// may be another task's. Linux's entries are left to that package.
//
// Where none of it is saved, as in functions that compilers make of the attribute "interrupt",
// the PC is lost as soon as the handler itself traps. The return address that such a function
// saves is the interrupted code's, which that code may have left behind long ago: the walk ends.

// stepTrap recovers the interrupted registers of a frame in a trap entry.
func stepTrap(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	if s.Module == nil || s.Module.Image == nil || s.Snapshot.OS == "Linux" || s.Mode != 0 && !isBanked(s.Snapshot.Arch) {
		return unwind.NotCovered
	}
	img, pc := s.Module.Image, s.Module.ToImage(s.PC)
	places := placesOf(img)
	if places.crossed(s, pc, out) {
		return unwind.Found
	}
	if places.returns.near(pc) && returnsFromTrap(img, pc) {
		if resumed(s, pc, out) {
			return unwind.Found
		}
		return unwind.NoCaller
	}
	return unwind.NotCovered
}

// crossed steps out of an entry that reads xepc before pc.
func (p *places) crossed(s *stackwalk.State, pc uint64, out *stackwalk.Caller) bool {
	img := s.Module.Image
	read, ok := p.reads.before(pc)
	if !ok {
		return false
	}
	for _, entry := range entries(img, read, s.Mode) {
		x := explorer{module: s.Module, mem: s.Snapshot.Memory, goal: pc, exact: s.Exact, gp: gpOf(s), mode: s.Mode}
		x.globals, x.threads = cpu.NoReg, cpu.NoReg
		if gp, ok := img.Arch.RegByName("gp"); ok {
			x.globals = gp
		}
		if tp, ok := img.Arch.RegByName("tp"); ok {
			x.threads = tp
		}
		if x.step(s, x.from(entry), out) {
			return true
		}
	}
	return false
}

// gpOf is gp, as the linker chose it, or as the capture has it.
func gpOf(s *stackwalk.State) value {
	name := "__global_pointer$"
	if !isRISCV(s.Snapshot.Arch) {
		name = "_gp"
	}
	if sym, ok := s.Module.Image.Symbols.Named(name); ok {
		return value{kind: number, off: s.Module.ToTarget(sym.Addr)}
	}
	if gp, ok := s.Snapshot.Arch.RegByName("gp"); ok && s.Thread != nil {
		if v, ok := s.Thread.Regs.Lookup(gp); ok {
			return value{kind: number, off: v}
		}
	}
	return value{}
}

// step takes the registers of the state that fits the frame. An entry that goes on with either
// of two stacks has two states at its call. The stack's words show one to be wrong; but while
// one handler interrupts another, the context of the task is there as well. The handler's then
// is the one right at its stack pointer.
func (x *explorer) step(s *stackwalk.State, states []*entryState, out *stackwalk.Caller) (ok bool) {
	arch := s.Snapshot.Arch
	for _, st := range states {
		regs, fit := st.interrupted(s)
		switch {
		case fit == contradicted:
			continue
		case fit != complete:
			return false
		}
		c := stackwalk.Caller{Regs: regs, Exact: true}
		if st.regs[arch.SP].isStart(arch.SP) {
			c.CFA, c.HasCFA = regs.Val[arch.SP], true
		}
		if ok && (regs.Val[arch.SP] != out.Regs.Val[arch.SP] || regs.Val[arch.PC] != out.Regs.Val[arch.PC]) {
			if c.HasCFA == out.HasCFA {
				return false
			}
			if out.HasCFA {
				c = *out
			}
			if !inCall(s, &c.Regs) {
				return false
			}
		}
		ok, *out = true, c
	}
	return ok
}

// inCall tells whether the return address of an interrupted function follows a call.
func inCall(s *stackwalk.State, regs *cpu.Registers) bool {
	ra, mode := s.Snapshot.Arch.SplitCode(regs.Val[s.Snapshot.Arch.LR])
	_, kind := callsite.Before(s.Snapshot, ra, mode)
	return kind == callsite.Call
}

// hasEntries tells whether traps are entered as this file describes.
func hasEntries(arch *cpu.Arch) bool {
	return isRISCV(arch) || arch.Name == "mips" || isBanked(arch)
}

func isRISCV(arch *cpu.Arch) bool { return strings.HasPrefix(arch.Name, "riscv") }

// maxEntry is how many bytes an entry has from its begin to the read of xepc, and from there
// to the call of a handler: it saves 31 registers, in 4 bytes of code each, and CSRs.
const maxEntry = 512

// places are the image addresses of an image's instructions that read xepc (reads), and of the
// instructions that return from traps (returns).
type places struct{ reads, returns rising }

// rising are addresses in order.
type rising []uint64

// maxPlaces bounds each kind: firmware has a handful.
const maxPlaces = 4096

// placesOf finds an image's places, once.
func placesOf(img *image.Image) *places {
	type key struct{}
	return img.Memo(key{}, func() any {
		p, kinds := new(places), kindsOf(img.Arch)
		for i := range img.Segments {
			seg := &img.Segments[i]
			if !seg.Exec {
				continue
			}
			step := int(img.Arch.InsnAlign)
			for at := 0; at+4 <= len(seg.Data) && max(len(p.reads), len(p.returns)) < maxPlaces; at += step {
				switch reads, returns := kinds(seg.Data[at:]); {
				case reads:
					p.reads = append(p.reads, seg.Addr+uint64(at))
				case returns:
					p.returns = append(p.returns, seg.Addr+uint64(at))
				}
			}
		}
		return p
	}).(*places)
}

// kinds tells of the code at a place whether it reads the exception PC, or returns from a trap.
type kinds func(code []byte) (reads, returns bool)

// kindsOf is what tells that of a processor: chosen once, asked for each instruction of an image.
func kindsOf(arch *cpu.Arch) kinds {
	switch {
	case isBanked(arch):
		return bankedKinds
	case isRISCV(arch):
		return riscvKinds
	case arch.BigEndian:
		return func(code []byte) (reads, returns bool) { return mipsKinds(binary.BigEndian.Uint32(code)) }
	}
	return func(code []byte) (reads, returns bool) { return mipsKinds(binary.LittleEndian.Uint32(code)) }
}

func bankedKinds(code []byte) (reads, returns bool) {
	b, ok := bankingOf(code, 0)
	if thumb, is := bankingOf(code, 1); is && !ok {
		b, ok = thumb, true
	}
	return ok && b.stores, false
}

func riscvKinds(code []byte) (reads, returns bool) {
	w := binary.LittleEndian.Uint32(code)
	c, ok := csrOf(w)
	return ok && isEPC(c.number) && c.dst != 0, w == 0x3020_0073 || w == 0x1020_0073 || w == 0x0020_0073 // mret, sret, uret
}

func mipsKinds(w uint32) (reads, returns bool) {
	return w&0xffe0_ffff == 0x4000_7000, w == 0x4200_0018 // mfc0 …,c0_epc; eret
}

// before is the last address in front of pc, and near.
func (r rising) before(pc uint64) (at uint64, ok bool) {
	i, _ := slices.BinarySearch(r, pc)
	if i == 0 || pc-r[i-1] > maxEntry {
		return 0, false
	}
	return r[i-1], true
}

// near tells whether an address lies at pc or behind, and near.
func (r rising) near(pc uint64) bool {
	i, _ := slices.BinarySearch(r, pc)
	return i < len(r) && r[i]-pc <= maxEntry
}

// entries are where the entry with a read of xepc may begin: where its symbol does, else at
// the words, as mtvec holds no other addresses, that make room on the stack or take another
// one, the farthest first: an entry may do both. From the functions before, no way leads here.
func entries(img *image.Image, read uint64, mode cpu.Mode) (out []uint64) {
	if isBanked(img.Arch) {
		if b, ok := bankingOf(img.Segments.Code(read), mode); ok && b.stores {
			return []uint64{read}
		}
		return nil
	}
	if sym, ok := img.Symbols.At(read); ok && read-sym.Addr <= maxEntry {
		out = append(out, sym.Addr)
	}
	named := len(out)
	var in [1]cpu.Insn
	for at := read &^ 3; at+maxEntry >= read && at <= read && len(out) < maxEntries; at -= 4 {
		code := img.Segments.Code(at)
		if len(code) < 4 || img.Arch.Decoder.Decode(code, at, 0, in[:]) == 0 {
			break
		}
		c, isCSR := csrOf(binary.LittleEndian.Uint32(code))
		swap := isCSR && isRISCV(img.Arch) && isScratch(c.number) && c.dst == c.src && c.dst != 0
		frame := in[0].Op == cpu.OpAddImm && in[0].Dst == img.Arch.SP && in[0].Src == img.Arch.SP && in[0].Imm < 0
		if swap || frame {
			out = append(out, at)
		}
	}
	slices.Reverse(out[named:])
	return out
}

// maxEntries bounds the places that are tried.
const maxEntries = 4
