package tasks

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/target"
)

// TestContext: ARM keeps what a task was switched out with in thread_info, which begins the stack until Linux 5.15, and
// task_struct since.
func TestContext(t *testing.T) {
	const text, taskAt, stacks, apart, size, commAt, stackAt = 0xc040_0000, 0xc200_0000, 0xc300_0000, 0x8000, 0x2000, 0x300, 0x10
	arch, _ := cpu.Set(arm.Archs()).ByName("arm", "", false)
	code := make([]byte, 0x1000)
	binary.LittleEndian.PutUint32(code[0x100:], 0xeb00_0010) // bl
	const ra = text + 0x104
	for _, c := range []struct {
		name    string
		inStack bool
		off     int // of the context in task_struct, or on the stack
		want    bool
	}{
		{"in task_struct", false, 0x40, true},
		{"in thread_info on the stack", true, 0x1c, true},
		{"not within thread_info", true, 0x100, false},
	} {
		var b target.Builder
		b.Add(text, code, 0, target.PermRead|target.PermExec)
		tasks, memory := make([]byte, 3*apart), make([]byte, 3*size)
		f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: arch, Text: target.Range{Lo: text, Hi: text + 0x1000}}, word: 4}}
		for i := range 3 {
			task, stack := tasks[apart*i:], memory[size*i:]
			base := uint32(stacks) + uint32(size*i)
			binary.LittleEndian.PutUint32(task[stackAt:], base)
			context := task[c.off:]
			if c.inStack {
				context = stack[c.off:]
			}
			binary.LittleEndian.PutUint32(context[4*8:], base+0x1f00) // sp
			binary.LittleEndian.PutUint32(context[4*9:], ra)          // pc
			for at := 0x1f00; at < 0x1f20; at += 4 {
				binary.LittleEndian.PutUint32(stack[at:], ra)
			}
			f.found = append(f.found, taskAt+uint64(apart*i+commAt))
		}
		b.Add(taskAt, tasks, 0, target.PermRead|target.PermWrite)
		b.Add(stacks, memory, 0, target.PermRead|target.PermWrite)
		f.Memory = b.Memory(arch)
		f.findContext()
		f.findStack()
		if f.context.known != c.want {
			t.Errorf("%s: context known %t, at %#x", c.name, f.context.known, f.context.at)
			continue
		}
		if got := f.task(f.found[2]); c.want && (got.Regs.Val[arch.PC] != ra || got.Regs.Val[arch.SP] != stacks+2*size+0x1f00 || got.Stack.Lo != stacks+2*size) {
			t.Errorf("%s: PC %#x, SP %#x, stack %#x", c.name, got.Regs.Val[arch.PC], got.Regs.Val[arch.SP], got.Stack)
		}
	}
}
