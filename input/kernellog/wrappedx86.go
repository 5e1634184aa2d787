package kernellog

import "strings"

// Lines of x86's reports that mail and narrow terminals break at a space:
//
//	[ 2423.571314] RIP: 0010:[<ffffffff8118d0fa>]  [<ffffffff8118d0fa>]
//	toy_copy+0x8a/0x2a0
//	[ 2423.570426] CPU: 16 PID: 2869 Comm: toyd Not tainted
//	3.11.0-15-generic #25

// isRest tells whether text is the rest of a message that would not end where before does, of those that x86's kernels print.
func isRest(before, text string) bool {
	if len(before) > maxBroken || text == "" || isSnip(text) {
		return false
	}
	p, _, isPlace := parsePlace(text)
	isPlace = isPlace && p.symbol != "" || strings.HasPrefix(text, "? ") && isEntry(text)
	last := before[strings.LastIndexByte(before, ' ')+1:]
	switch {
	case last == "?", strings.HasSuffix(last, ">]"), len(last) == len("<c0123456>") && last[0] == '<' && digitsOf(last[1:9]) == 8: // an address, and its symbol
		return isPlace || isPointerRegister(before) && strings.HasPrefix(text, "[<")
	case strings.HasPrefix(text, "["): // a symbol, and its module or its task
		_, rest := cutModule(text)
		return strings.Trim(rest, "()") == "" && (endsInPlace(last) || strings.HasSuffix(before, " stuck for "+secondsIn(before)+"s!"))
	}
	return isRestOfHeading(before, last, text)
}

// isRestOfHeading tells whether text is the rest of the line that names the process, or the address of a fault.
func isRestOfHeading(before, last, text string) bool {
	if h, ok := processHeading(before); ok && h.release == "" {
		_, another := processHeading(text)
		return !another && (strings.Contains(text, " #") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "Tainted:") || strings.HasPrefix(text, "Not tainted"))
	}
	address := text
	switch last {
	case "at", "address", "address:":
	default:
		rest, ok := strings.CutPrefix(text, "at ")
		if address = strings.TrimPrefix(rest, "virtual address "); !ok {
			return false
		}
	}
	_, hex := parseHex(address)
	return hex && (strings.Contains(before, "nable to handle ") || strings.Contains(before, " NULL pointer "))
}

// isPlaceOfFault tells whether text says where the fault of the message before happened, which kernels for x86-64 before
// Linux 2.6.25 print in a line of its own (arch/x86_64/mm/fault.c, do_page_fault):
//
//	Unable to handle kernel NULL pointer dereference at 0000000000000010 RIP:
//	 [<ffffffff8813b1cf>] :toy:toy_poll+0x43/0x57
func isPlaceOfFault(before, text string) bool {
	return strings.HasSuffix(before, " RIP:") && strings.Contains(before, "nable to handle ") && (strings.HasPrefix(text, "[<") || strings.HasPrefix(text, "<"))
}

// maxBroken bounds a message that a line goes on with.
const maxBroken = 400

// isPointerRegister tells whether a message begins with the register that has the PC.
func isPointerRegister(text string) bool {
	return strings.HasPrefix(text, "RIP: ") || strings.HasPrefix(text, "EIP: ")
}

// endsInPlace tells whether a word is a symbol with an offset.
func endsInPlace(word string) bool {
	p, rest, ok := parsePlace(word)
	return ok && p.symbol != "" && rest == ""
}

// secondsIn is the number behind "stuck for ", "" for none.
func secondsIn(text string) string {
	_, rest, _ := strings.Cut(text, " stuck for ")
	n, _, _ := strings.Cut(rest, "s!")
	return n
}
