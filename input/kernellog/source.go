package kernellog

import "strings"

// Tools put lines of the source into a log, for whom has no binaries to do so: scripts/decode_stacktrace.sh of Linux
// instead of the place in a function and behind it, syzbot behind the place. A function that was inlined has a line of its own.
//
//	toy_probe (drivers/toy/core.c:123 (discriminator 2) drivers/toy/bus.c:77) toymod (P)
//	toy_probe+0x3c/0x114 drivers/toy/core.c:302
//	toy_write include/linux/toy.h:27 [inline]

// cutSource takes the lines of the source off, and what decode_stacktrace.sh puts behind: the module.
func cutSource(s string) (module, rest string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		line, rest := cutWord(s)
		for strings.HasPrefix(rest, "(discriminator ") {
			_, rest, _ = strings.Cut(rest, ")")
			rest = strings.TrimLeft(rest, " ")
		}
		if module, behind := cutModule(rest); module != "inline" {
			rest = behind
		}
		return "", rest, isSourceLine(line)
	}
	end := closing(s)
	if end < 0 {
		return "", s, false
	}
	for _, line := range strings.Fields(s[1:end]) {
		ok = ok || isSourceLine(line)
	}
	rest = strings.TrimLeft(s[end+1:], " ")
	if word, behind := cutWord(rest); ok && isSymbol(strings.ReplaceAll(word, "-", "_")) {
		module, rest = word, behind
	}
	return module, rest, ok
}

// closing is where the parenthesis closes that s begins with, −1: nowhere.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isSourceLine tells whether s is "drivers/toy/core.c:123", or "??:?" where the tool found none.
func isSourceLine(s string) bool {
	file, line, ok := cutLast(strings.TrimRight(s, ")"), ':')
	if !ok || line == "" || strings.Trim(line, "0123456789?") != "" {
		return false
	}
	for _, suffix := range [...]string{".c", ".h", ".S", ".rs", ".inc", "??"} {
		if strings.HasSuffix(file, suffix) {
			return true
		}
	}
	return false
}
