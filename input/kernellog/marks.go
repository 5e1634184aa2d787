package kernellog

import "strings"

// cutMarks takes off where x86 shows that the chain changes stacks (arch/x86/kernel/dumpstack.c). Before Linux 4.10
// the first entry on the other stack follows in the same line:
//
//	<IRQ>  [<ffffffff8171ed09>] dump_stack+0x45/0x56
//	<<EOE>>  <IRQ>  [<ffffffff81823ac4>] _raw_spin_unlock_irqrestore+0x24/0x70
//	<EOI>  [<ffffffff815d1862>] ? cpuidle_enter_state+0x52/0xc0
//	</TASK>
//
// What <<EOE>> stands in front of was interrupted.
func cutMarks(text string) (marks, rest string) {
	rest = text
	for {
		mark, after := cutWord(rest)
		if !isMark(mark) {
			return text[:len(text)-len(rest)], rest
		}
		rest = after
	}
}

// isMark tells whether a word is such a mark: <IRQ>, <SOFTIRQ>, <NMI>, <TASK>, </TASK>, <EOI>, <<EOE>>, <#DF>.
func isMark(word string) bool {
	inner, ok := strings.CutPrefix(word, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	if !ok || !closed || inner == "" {
		return false
	}
	return inner[0] == '/' || inner[0] == '#' || inner[0] == '<' || inner[0] >= 'A' && inner[0] <= 'Z' && digitsOf(inner) == 0
}
