package unwind

import "github.com/backsight/backsight/cpu"

// savesArguments tells whether a rule finds a register in the frame that no callee preserves, and that
// is not a signal's frame. So do the tables of functions that call __builtin_eh_return: what it
// passes to the landing pad lies there (_Unwind_Resume's a0 to a3 on MIPS, rax and rdx on x86-64).
// Which of these functions is about to leave, the code tells: see CallGraph.Abandons.
func savesArguments(rule *Rule, arch *cpu.Arch) bool {
	if rule.Flags&SignalFrame != 0 {
		return false
	}
	for i := range rule.N {
		if r := &rule.Regs[i]; r.Kind == AtCFA && !arch.Preserved.Has(r.Reg) && r.Reg != arch.LR && r.Reg != arch.PC {
			return true
		}
	}
	return false
}

// abandons asks whether the code where rule holds is about to go on in a frame further out.
func (f *finder) abandons(rule *Rule) bool {
	if f.verifier.graph == nil || rule.Flags&StartStated == 0 {
		return false
	}
	q := f.query
	q.Entry, q.HasEntry = rule.Start, true
	return f.verifier.graph.Abandons(&q)
}
