package sigframe

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Darwin's kernel enters _sigtramp of libsystem_platform instead of the handler; _sigtramp
// calls the handler and then __sigreturn, which never comes back. Above the frame of _sigtramp
// lies what the kernel pushed:
//
//	SP in _sigtramp ─► its own frame, of some words
//	                   x86-64 and i386: return address; i386: arguments
//	                   siginfo, ucontext { …, size and address of mcontext }
//	                   mcontext { exception state, thread state: all registers, … }
//
// (xnu, bsd/dev/i386/unix_signal.c and bsd/dev/arm/unix_signal.c, sendsig.) How large the frame
// of _sigtramp is differs between releases, so that the ucontext is known by its shape: its
// pointer leads to an mcontext above it whose registers may be those of interrupted code.

// system is the System of images that _sigtramp is in.
const system = "darwin"

// sigreturn is the number of the system call.
const sigreturn = 184

// sigtramp tells whether a place is in _sigtramp: by its symbol, or by the code behind the place.
func sigtramp(s *stackwalk.State, pc uint64) bool {
	m := s.Module
	if m == nil || !m.Contains(pc) {
		m, _ = s.Snapshot.ModuleAt(pc)
	}
	if m == nil || m.Image == nil || m.Image.System != system || m.Image.Arch.Decoder == nil {
		return false
	}
	at := m.ToImage(pc) & m.Image.Arch.AddrMask()
	if f := functionOf(m.Image); f.Size != 0 {
		return at-f.Addr < f.Size
	}
	return leadsToSigreturn(m.Image, at)
}

type functionKey struct{}

// functionOf is the range of _sigtramp in an image, empty where no symbol tells.
func functionOf(img *image.Image) image.Range {
	return img.Memo(functionKey{}, func() any {
		sym, ok := img.Symbols.Named("_sigtramp")
		if !ok {
			return image.Range{}
		}
		const longest = 512 // bytes; the longest known has some 200
		end := sym.Addr + longest
		if _, hi, _, ok := img.Symbols.FunctionAt(sym.Addr); ok {
			end = min(end, hi)
		}
		return image.Range{Addr: sym.Addr, Size: end - sym.Addr}
	}).(image.Range)
}

// maxBehind is how many instructions behind the call of the handler are looked at: _sigtramp
// only passes on what it was given.
const maxBehind = 12

// leadsToSigreturn tells whether code calls __sigreturn before it calls anything else.
func leadsToSigreturn(img *image.Image, at uint64) bool {
	var buf [maxBehind]cpu.Insn
	n := img.Arch.Decoder.Decode(img.Segments.Code(at), at, 0, buf[:])
	for i := range n {
		switch in := &buf[i]; in.Op {
		case cpu.OpCall:
			return in.Src == cpu.NoReg && in.Flags&cpu.FlagMemory == 0 && isSigreturn(img, in.Target)
		case cpu.OpJump, cpu.OpReturn, cpu.OpTrap, cpu.OpUnknown:
			return false
		}
	}
	return false
}

// isSigreturn tells whether a function makes the system call, or is the stub of the import.
func isSigreturn(img *image.Image, at uint64) bool {
	var buf [6]cpu.Insn
	n := img.Arch.Decoder.Decode(img.Segments.Code(at), at, 0, buf[:])
	number := false
	slot := uint64(0)
	for i := range n {
		in := &buf[i]
		switch {
		case in.Op == cpu.OpConst:
			number = number || in.Imm&0xffff == sigreturn && in.Imm>>16&^0x200 == 0
			slot = uint64(in.Imm)
		case in.Op == cpu.OpSyscall:
			return number
		case in.Op == cpu.OpLoad && in.Base != cpu.NoReg:
			slot += uint64(in.Imm)
		case in.Op == cpu.OpJump:
			if in.Flags&cpu.FlagMemory != 0 {
				slot = uint64(in.Imm)
			}
			name, _ := img.Import(slot & img.Arch.AddrMask())
			return name == "__sigreturn"
		}
	}
	return false
}

// ucontext is where struct ucontext has its fields, and where the thread state lies in the
// mcontext: behind the exception state.
type ucontext struct {
	arch                       string
	size, mcSize, mcontext, ss int
}

// ucontexts by processor: uc_onstack, uc_sigmask, uc_stack (pointer, size, flags), uc_link,
// uc_mcsize, uc_mcontext (sys/_types/_ucontext.h); i386_exception_state_t has 12 bytes, those of
// x86-64 and arm64 16 (mach/i386/_structs.h, mach/arm/_structs.h).
var ucontexts = [...]ucontext{
	{"x86_64", 56, 40, 48, 16},
	{"aarch64", 56, 40, 48, 16},
	{"i386", 32, 24, 28, 12},
}

func ucontextOf(arch *cpu.Arch) *ucontext {
	for i := range ucontexts {
		if ucontexts[i].arch == arch.Name {
			return &ucontexts[i]
		}
	}
	return nil
}

const (
	// maxFrame bounds what lies between SP and the ucontext: the frame of _sigtramp, a siginfo.
	maxFrame = 1024
	// maxMcontext bounds the size of an mcontext: the largest, with AVX-512, has 2,664 bytes.
	maxMcontext = 8192
)

// interrupted finds the ucontext above SP, and the registers in it.
func interrupted(s *stackwalk.State, sp uint64) (cpu.Registers, unwind.Verdict) {
	arch := s.Snapshot.Arch
	u, layout := ucontextOf(arch), arch.Layouts[cpu.DarwinThread]
	if u == nil || layout.Size == 0 {
		return cpu.Registers{}, unwind.NotCovered
	}
	verdict := unwind.NotCovered
	word := uint64(arch.AddrSize)
	for at := range target.RangeOf(sp&^(word-1), maxFrame).Words(word) {
		mc, ok := s.Snapshot.Memory.Word(at + uint64(u.mcontext))
		size, sized := s.Snapshot.Memory.Word(at + uint64(u.mcSize))
		if !ok || !sized {
			return cpu.Registers{}, unwind.NotCaptured
		}
		if mc < at+uint64(u.size) || mc > at+maxFrame || size < uint64(u.ss+layout.Size) || size > maxMcontext {
			continue
		}
		var block [maxContext]byte
		n := s.Snapshot.Memory.Read(mc+uint64(u.ss), block[:layout.Size])
		regs := arch.Read(layout, block[:n])
		authenticate(s.Snapshot, &regs)
		if regs.Known.Has(arch.PC) && regs.Known.Has(arch.SP) && plausible(s.Snapshot, &regs) {
			return regs, unwind.Found
		}
		verdict = unwind.Malformed
	}
	return cpu.Registers{}, verdict
}

// authenticate takes the signatures off the code pointers that the kernel saved (arm64e).
func authenticate(snap *target.Snapshot, regs *cpu.Registers) {
	if snap.CodeMask == 0 {
		return
	}
	for _, r := range [...]cpu.Reg{snap.Arch.PC, snap.Arch.LR} {
		if v, ok := regs.Lookup(r); ok {
			regs.Set(r, target.Unsigned(v, snap.CodeMask))
		}
	}
}
