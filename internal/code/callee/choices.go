package callee

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxResolver bounds the bytes of a resolver that are read: glibc's for memcpy on x86-64 has 400.
const maxResolver = 2048

// exportOf is where a symbol of a library is.
func exportOf(lib *image.Image, s *image.Symbol) Export {
	e := Export{Addr: disasm.Addr{PC: s.Addr, Mode: s.Mode}}
	if s.Resolver && lib.Arch.Decoder != nil {
		e.Choices = choices(disasm.Of(lib), e.Addr, min(s.Size, maxResolver))
	}
	return e
}

// ownChoices are those of a word that the dynamic linker fills with what code of the image itself returns:
// the entry of libc's own PLT for memcpy, say. The export is empty where there are none.
func ownChoices(c disasm.Code, slot uint64) (e Export) {
	at, ok := c.Img.Resolver(slot)
	if !ok || c.Arch.Decoder == nil {
		return e
	}
	if to, ok := c.Pointer(at); ok {
		if list := choices(c, to, maxResolver); len(list) > 0 {
			return Export{Addr: to, Choices: list}
		}
	}
	return e
}

// choices are the functions whose addresses a resolver of at most so many bytes builds, in a line:
//
//	lea    __memset_avx2_unaligned(%rip),%rax
//	lea    __memset_evex_unaligned(%rip),%rdx
//	cmovne %rdx,%rax
//
// The resolver ends at a return behind which none of its branches leads.
func choices(c disasm.Code, at disasm.Addr, size uint64) (list []disasm.Addr) {
	m, end, far := absint.New(c), at.PC+size, at.PC
	var st absint.State
	st.Start(c.Arch)
	var buf [32]cpu.Insn
	for at.PC < end {
		n := c.Decode(at, buf[:])
		if n == 0 {
			break
		}
		for i := range buf[:n] {
			in := &buf[i]
			m.Exec(&st, in, at.PC)
			at.PC += uint64(in.Len)
			if r, ok := disasm.PCThunk(c, disasm.Target(in)); ok && in.Op == cpu.OpCall {
				st.Set(r, absint.Const(absint.Signed(at.PC, c.Arch)), c.Arch)
			}
			if to, ok := m.CodeAt(st.Get(in.Dst)); ok && !slices.Contains(list, to) {
				list = append(list, to)
			}
			if in.Op == cpu.OpJump && in.Flags&cpu.FlagConditional != 0 {
				far = max(far, in.Target)
			}
			if in.Ends(c.Arch.PC) && at.PC > far {
				return list
			}
		}
	}
	return list
}
