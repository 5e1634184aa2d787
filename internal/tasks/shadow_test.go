package tasks

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestShadow: a task's shadow call stack stands where thread_info.scs_sp says, if the kernel's types have that.
func TestShadow(t *testing.T) {
	arch := arm64.Archs()[0]
	memory := make([]byte, 0x100)
	binary.LittleEndian.PutUint64(memory[0x18:], 0xffff_8000_1234_5060)
	var b target.Builder
	b.Add(tasksAt, memory, 0, target.PermRead)
	for _, kept := range []bool{true, false} {
		fields := func(path ...string) (uint64, bool) {
			off, ok := map[string]uint64{"comm": 0x80, "scs_sp": 0x18}[path[len(path)-1]]
			return off, ok && (kept || off == 0x80)
		}
		f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: arch, Memory: b.Memory(arch), Fields: fields}, word: 8}}
		var regs cpu.Registers
		regs.Set(arch.SP, 0x1000)
		f.addShadow(tasksAt+0x80, &regs)
		if top, ok := regs.Lookup(arm64.X0 + 18); ok != kept || kept && top != 0xffff_8000_1234_5060 {
			t.Errorf("scs_sp kept %t: x18 = %#x, %t", kept, top, ok)
		}
	}
}
