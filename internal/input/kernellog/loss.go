package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// isLoss tells whether a message says that messages before it were lost. The console and the journal
// write such messages; syslog counts equal messages instead of writing them.
func isLoss(text string) bool {
	return strings.HasPrefix(text, "** ") && strings.HasSuffix(text, " printk messages dropped **") ||
		strings.HasPrefix(text, "Lost ") && strings.HasSuffix(text, " message(s)!") || // in an NMI, Linux 4.7 to 5.14
		strings.Contains(text, ": Missed ") && strings.HasSuffix(text, " kernel messages") ||
		strings.Contains(text, "last message repeated ") && strings.HasSuffix(text, " times") || strings.HasPrefix(text, "message repeated ")
}

// isUnwinders tells whether a message is of the kernel's unwinder, which complains within the chain that it prints
// (arch/x86/kernel/unwind_frame.c, unwind_orc.c, since Linux 4.9), and shows the stack then:
//
//	WARNING: kernel stack regs at 00000000a91f745d in toyd:4321 has bad 'bp' value 00000000f6e9d8e9
//	unwind stack type:0 next_sp:          (null) mask:0x2 graph_idx:0
//	00000000a91f745d: ffffffffc483ad99 (toy_remove+0x39/0x50 [toy])
func isUnwinders(text string) bool {
	rest, ok := strings.CutPrefix(text, "WARNING: ")
	return ok && phrases.Begins(rest, "kernel stack ", "stack recursion ", "stack going in the wrong direction", "can't access registers", "can't dereference ",
		"unrecognized unwind ", "unknown unwind ", "unsupported unwind ", "missing R")
}

// isSnip tells whether a line stands for lines that were left out by whoever passes the log on: "[...]", "<snip>",
// "[snip]", "…".
func isSnip(text string) bool {
	inner := strings.Trim(text, "[]()<>-. …")
	return text != "" && (inner == "" && strings.ContainsAny(text, ".…") || strings.EqualFold(inner, "snip") || strings.EqualFold(inner, "snipped") || strings.EqualFold(inner, "cut"))
}

// isCut tells whether a message is a symbol that the end of a line cut off, as the journal's pager does: "_RINvMs8_NtCsirMa>".
func isCut(text string) bool {
	symbol, cut := strings.CutSuffix(text, ">")
	return cut && isSymbol(symbol)
}
