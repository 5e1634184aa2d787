package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// Tools put lines of the source into a log, for whom has no binaries to do so: scripts/decode_stacktrace.sh of Linux
// instead of the place in a function and behind it, syzbot behind the place. A function that was inlined has a line of its own.
//
//	toy_probe (drivers/toy/core.c:123 (discriminator 2) drivers/toy/bus.c:77) toymod (P)
//	toy_probe+0x3c/0x114 drivers/toy/core.c:302
//	toy_write include/linux/toy.h:27 [inline]

// cutSource takes the lines of the source off, of which the last is the function's own, and what decode_stacktrace.sh puts
// behind: the module.
func cutSource(s string) (at target.Source, module, rest string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		line, rest := cutWord(s)
		for strings.HasPrefix(rest, "(discriminator ") {
			_, rest, _ = strings.Cut(rest, ")")
			rest = strings.TrimLeft(rest, " ")
		}
		if module, behind := cutModule(rest); module != "inline" {
			rest = behind
		}
		at, ok = sourceIn(line)
		return at, "", rest, ok
	}
	end := closing(s)
	if end < 0 {
		return at, "", s, false
	}
	for _, line := range strings.Fields(s[1:end]) {
		if own, is := sourceIn(line); is {
			at, ok = own, true
		}
	}
	rest = strings.TrimLeft(s[end+1:], " ")
	if word, behind := cutWord(rest); ok && isSymbol(strings.ReplaceAll(word, "-", "_")) {
		module, rest = word, behind
	}
	return at, module, rest, ok
}

// inlinedIn reads the line of a function that was inlined into the one of the next entry.
func inlinedIn(text string) (p target.Place, ok bool) {
	s, ok := strings.CutSuffix(text, " [inline]")
	name, line := cutWord(s)
	at, is := sourceIn(line)
	return target.Place{Function: name, File: at.File, Line: at.Line}, ok && is && isSymbol(name)
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

// sourceIn reads "drivers/toy/core.c:123", or "??:?" where the tool found none.
func sourceIn(s string) (at target.Source, ok bool) {
	file, line, ok := cutLast(strings.TrimRight(s, ")"), ':')
	if !ok || line == "" || strings.Trim(line, "0123456789?") != "" {
		return at, false
	}
	for _, suffix := range [...]string{".c", ".h", ".S", ".rs", ".inc"} {
		if strings.HasSuffix(file, suffix) {
			at.File = file
			at.Line, _ = strconv.Atoi(line)
			return at, true
		}
	}
	return at, file == "??"
}

// endsEntry tells whether rest may follow an entry: nothing, or the marks of arm64 since
// Linux 6.12, (P) for registers, (F) and (K) for tracers' trampolines, (U), or the line of the source.
func endsEntry(rest string) bool {
	if _, _, behind, ok := cutSource(rest); ok {
		rest = behind
	}
	return rest == "" || strings.HasPrefix(rest, "(") && len(rest) <= len("(FKPU)")
}
