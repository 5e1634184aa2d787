//go:build linux

package gcore

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/procfs"
)

// handler is a thread whose handler runs on the stack at 0x1000_0000, of so many bytes, with SP at 0x1000_e000. The kernel's frame is
// above: at 0x1000_e200 struct ucontext, and in it, at the offset mcontext, the registers of the code that ran with SP at 0x7fff_1230.
func handler(a *cpu.Arch, mcontext int, size uint64) *builder {
	b := &builder{arch: a, wide: a.ELF.Class == 2, order: binary.LittleEndian}
	if a.BigEndian {
		b.order = binary.BigEndian
	}
	memory := make([]byte, 0x2000)
	put := func(at int, v uint64, width int) {
		if width == 8 {
			b.order.PutUint64(memory[at:], v)
		} else {
			b.order.PutUint32(memory[at:], uint32(v))
		}
	}
	w := b.width()
	stack := []uint64{0x1000_0000, 0, size} // ss_sp, ss_flags, ss_size
	if a.Name == "mips" || a.Name == "mips64" {
		stack[1], stack[2] = stack[2], stack[1]
	}
	for i, v := range stack {
		put(0x200+(2+i)*w, v, w)
	}
	for _, s := range a.Layouts[cpu.LinuxSigcontext].Slots {
		if s.Reg == a.SP {
			put(0x200+mcontext+s.Offset, 0x7fff_1230, min(s.Size, 8))
		}
	}
	b.pieces = []piece{{lo: 0x1000_e000, size: uint64(len(memory)), data: memory, mode: "rw-p"}}
	regs := make([]byte, a.Layouts[cpu.LinuxPrstatus].Size)
	for _, s := range a.Layouts[cpu.LinuxPrstatus].Slots {
		if s.Reg == a.SP {
			put(0x1000, 0x1000_e000, s.Size)
			copy(regs[s.Offset:], memory[0x1000:0x1000+s.Size])
			put(0x1000, 0, s.Size)
		}
	}
	b.threads = []thread{{id: 1, regs: regs}}
	return b
}

// TestInterrupted: where a handler runs on a stack of its own, the stack of what it interrupted is found by the kernel's frame: on
// processors whose signal mask stands in front of the registers, and on those where it stands behind them. Where the words describe a
// stack that the handler is not on, they are others. The first thread's stack is copied, whatever the frame tells.
func TestInterrupted(t *testing.T) {
	mcontext := map[string]int{"x86_64": 40, "i386": 20, "arm": 20, "mips": 24, "mips64 n32": 24, "mips64 n64": 40, "aarch64": 176, "riscv64": 176, "riscv32": 160}
	tried := map[string]bool{}
	for _, a := range slices.Concat(archs(), arm64.Archs(), riscv.Archs()) {
		offset, known := mcontext[a.Name]
		if a.Name == "mips64" {
			offset, known = mcontext[a.Name+" "+a.ABI]
		}
		if a.Name == "aarch64" && a.ELF.Class == 1 { // no released kernel runs ILP32 programs
			continue
		}
		if !known || a.Layouts[cpu.LinuxSigcontext].Size == 0 || a.Layouts[cpu.LinuxPrstatus].Size == 0 {
			continue
		}
		tried[a.Name+a.ABI] = true
		if got := handler(a, offset, 64<<10).interrupted(); !slices.Equal(got, []uint64{0x7fff_1230}) {
			t.Errorf("%s %s: %#x", a.Name, a.ABI, got)
		}
		if got := handler(a, offset, 0xe000).interrupted(); got != nil {
			t.Errorf("%s %s: a stack that ends below SP: %#x", a.Name, a.ABI, got)
		}
	}
	b := handler(archs()[0], 0, 0) // whose frame does not tell
	b.maps = []procfs.Mapping{{Lo: 0x1000_0000, Hi: 0x1001_0000, Perms: "rw-p"}, {Lo: 0x7ffd_0000, Hi: 0x8000_0000, Perms: "rw-p", Name: "[stack]"}}
	b.auxv = b.word(b.word(nil, 25), 0x7fff_ff89) // AT_RANDOM
	if got := b.interrupted(); !slices.Equal(got, []uint64{0x7ffd_0000}) {
		t.Errorf("the first thread's stack: %#x", got)
	}
	b.maps = []procfs.Mapping{{Lo: 0x1000_0000, Hi: 0x8000_0000, Perms: "rw-p"}} // the thread is there
	if got := b.interrupted(); got != nil {
		t.Errorf("the first thread's stack is known already: %#x", got)
	}
	if len(tried) < len(mcontext) {
		t.Errorf("tried %v", tried)
	}
}
