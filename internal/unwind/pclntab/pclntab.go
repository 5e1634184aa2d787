// Package pclntab finds unwind rules in the table that the Go runtime unwinds by. The table counts SP
// at each instruction, prologues and epilogues among them. Go code keeps no register for its caller
// but the frame pointer, which nothing here needs, and g: SP and the return address are recovered, the
// other registers that C preserves are lost.
//
//	x86        CFA = SP + height + a word    return address right below the CFA
//	others     CFA = SP + height             return address in LR before the frame is made, then
//	                                         in the frame's lowest word
//
// A signal handler of the runtime makes the interrupted code call sigpanic or asyncPreempt: their
// return address is where the code was, behind no call. Where a call sets LR, the handler has
// pushed what LR was.
//
// Specifications: runtime/traceback.go, unwinder.next; runtime/signal_*.go, preparePanic and pushCall;
// cmd/compile/abi-internal.md.
package pclntab

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// Source implements stackwalk.RuleSource.
type Source struct{}

var _ stackwalk.RuleSource = Source{}

// Method is MethodCFI: a compiler's table.
func (Source) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource: Go programs have a table.
func (Source) Knows(img *image.Image) bool { return pclntab.Of(img) != nil }

// Rule has one answer.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	f, ok := pclntab.Of(q.Image).At(q.PC)
	if !ok {
		return unwind.NotCovered
	}
	name := f.Name()
	switch {
	case f.Handles():
		return unwind.NotCovered
	case f.TopFrame(), starts(name) && !q.Exact:
		return unwind.EndOfStack
	}
	height, ok := f.Height(q.PC)
	if f.WritesSP() {
		var c change
		c, ok = changeAt(q.Image, &f, q.PC)
		if ok && c.made && schedules(name) && !q.Exact {
			return unwind.EndOfStack
		}
		ok = ok && !c.made
	}
	if !ok || height < 0 || height%int64(q.Arch.AddrSize) != 0 {
		return unwind.NotCovered
	}
	fill(q.Arch, height, out)
	if interrupts(name) {
		interrupted(q.Arch, out)
	}
	out.Flags |= stackwalk.StartStated
	out.Start = f.Lo
	return unwind.Found
}

// starts tells whether a function makes threads (runtime/sys_linux_*.s): what it calls runs on the new thread's stack,
// which has nothing above.
func starts(name string) bool { return name == "runtime.clone" }

// schedules tells whether a function calls the scheduler at the beginning of the thread's own stack, over what mstart had there and never
// comes back to (runtime/proc.go, mstart1; runtime/asm_*.s).
func schedules(name string) bool { return name == "runtime.mcall" }

// fill makes out the rule where SP is height bytes below where the call left it.
func fill(arch *cpu.Arch, height int64, out *stackwalk.Rule) {
	out.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: arch.SP, Off: height}
	switch {
	case arch.LR == cpu.NoReg:
		out.CFA.Off += int64(arch.AddrSize)
		out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -int64(arch.AddrSize)}
	case height == 0:
		out.RA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	default:
		out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: -height}
	}
	lost := arch.Preserved.Without(arch.SP)
	if m := machineOf(arch); m != nil {
		lost = lost.Without(m.g)
	}
	for ; lost != 0; lost = lost.Without(lost.First()) {
		out.Add(rule.Register{Kind: rule.Undefined, Reg: lost.First(), Base: cpu.NoReg})
	}
}

// interrupts tells whether signal handlers make any code call a function.
func interrupts(name string) bool {
	switch name {
	case "runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt", "runtime.debugCallV2":
		return true
	}
	return false
}

// interrupted makes the caller one that a signal interrupted.
func interrupted(arch *cpu.Arch, out *stackwalk.Rule) {
	out.Flags |= stackwalk.SignalFrame
	if arch.LR == cpu.NoReg {
		return
	}
	pushed := int64(arch.AddrSize)
	if arch.Name == "aarch64" {
		pushed = 16 // SP stays aligned
	}
	if out.RA.Kind == rule.AtCFA {
		out.RA.Off -= pushed
	}
	out.CFA.Off += pushed
	out.Add(rule.Register{Kind: rule.AtCFA, Reg: arch.LR, Base: cpu.NoReg, Off: -pushed})
}
