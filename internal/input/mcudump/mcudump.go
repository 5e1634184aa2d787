// Package mcudump reads core dumps of microcontrollers that other tools make: a processor's registers, and pieces of its memory.
package mcudump

import (
	"context"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/target"
)

// opener opens dumps that read reads.
func opener(read func([]byte) dump) func(context.Context, *input.Capture, *input.Env) (input.Stream, error) {
	return func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
		data, broken := c.Bytes(ctx)
		if data == nil {
			return nil, broken
		}
		d := read(data)
		if len(d.regs) == 0 {
			return nil, &input.Error{Path: c.Name, Offset: int64(d.end), Reason: "a core dump that ends before its registers"}
		}
		snap, why := d.snapshot(ctx, env)
		if why != "" {
			return nil, &input.Error{Path: c.Name, Offset: 0, Reason: why}
		}
		if d.end < len(data) || broken != nil {
			snap.Issues = append(snap.Issues, d.damaged(c.Name))
		}
		return input.One(snap), nil
	}
}

// dump is a dump, read.
type dump struct {
	set    string // the instruction set, as probe-rs calls it
	regs   []register
	pieces []piece
	end    int // of what could be read
}

// damaged says where a dump could not be read any more.
func (d *dump) damaged(name string) target.Issue {
	return target.Issue{Kind: target.IssueCapture, Subject: name, Text: fmt.Sprintf("the dump is damaged at %#x; what is behind is not read", d.end)}
}

// register is a register by the number that a debugging probe has for it.
type register struct{ number, value uint64 }

// piece is memory.
type piece struct {
	addr  uint64
	bytes []byte
}

// sets are instruction sets as probe-rs names them, and whose registers probes number how.
var sets = [...]struct {
	name, arch, abi string
	// pc is the number of the program counter; first that of register 0 of those that names lists.
	pc, first uint64
	names     string
}{
	{"Thumb2", "arm", "cortexm", 15, 0, "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc xpsr msp psp"},
	{"A32", "arm", "", 15, 0, "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc cpsr"},
	{"A64", "aarch64", "", 32, 0, "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 sp pc"},
	{"RV32", "riscv32", "", debugPC, 0x1000, riscvNames}, {"RV32C", "riscv32", "", debugPC, 0x1000, riscvNames},
	{"RV64", "riscv64", "", debugPC, 0x1000, riscvNames}, {"RV64C", "riscv64", "", debugPC, 0x1000, riscvNames},
}

// RISC-V's registers begin at 0x1000 for a debugger; the PC is the CSR dpc (RISC-V debug specification, 3.7.1.1).
const (
	debugPC    = 0x7b1
	riscvNames = "- x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 x31"
)

// snapshot is the dump as a stopped program; why says what keeps it from being one.
func (d *dump) snapshot(ctx context.Context, env *input.Env) (snap *target.Snapshot, why string) {
	for _, set := range sets {
		if set.name != d.set {
			continue
		}
		hint, _ := env.Archs.ByName(set.arch, set.abi, false)
		p := firmware.Open(env, hint)
		if p.Arch == nil {
			break
		}
		var b target.Builder
		b.Until(ctx)
		for _, piece := range d.pieces {
			b.Add(piece.addr, piece.bytes, 0, target.PermUnknown)
		}
		snap = &target.Snapshot{Arch: p.Arch, Modules: p.Modules, Issues: p.Issues, Memory: b.Memory(p.Arch)}
		snap.SortModules()
		names := strings.Fields(set.names)
		th := target.Thread{Name: "processor", Crashed: true}
		for _, r := range d.regs {
			switch i := r.number - set.first; {
			case r.number == set.pc:
				th.Regs.Set(p.Arch.PC, r.value)
			case i < uint64(len(names)):
				setRegister(p.Arch, &th.Regs, names[i], r.value)
			}
		}
		snap.Threads = append(snap.Threads, th)
		if p.Arch.Micro() {
			snap.Fault = faultIn(snap)
		}
		snap.OS = rtos.AddTasks(ctx, snap)
		return snap, ""
	}
	return nil, fmt.Sprintf("a core dump of %.16q, a processor that is not supported", d.set)
}

func setRegister(arch *cpu.Arch, regs *cpu.Registers, name string, v uint64) {
	if reg, ok := arch.RegByName(name); ok {
		regs.Set(reg, v)
	}
}

// faultIn is why a Cortex-M is in a handler, by its fault status registers where the dump has them; nil where nothing says.
func faultIn(snap *target.Snapshot) *target.Fault {
	status := cortexm.StatusIn(snap.Memory)
	reasons := status.Reasons()
	if len(reasons) == 0 {
		return nil
	}
	f := &target.Fault{Name: "fault", Status: strings.Join(reasons, "; ")}
	f.Address, f.HasAddress = status.Address()
	return f
}
