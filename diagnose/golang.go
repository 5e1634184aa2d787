package diagnose

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// goDied is the message with which Go's runtime ended the program, "" where the thread did not end so, or the message is not found.
//
//   - A goroutine knows its panic, which begins with the value, an interface, up to Go 1.25 one word further on. Errors and Stringers
//     were made strings before (runtime/panic.go, preprintpanics).
//   - runtime.throw and runtime.fatal print from a closure, which lies among their variables: code, and the message.
func goDied(snap *target.Snapshot, th *report.Thread) (words string) {
	for at := range closures(snap, th) {
		if words = closureSays(snap, at); words != "" {
			return "it said: fatal error: " + words
		}
	}
	t := th.Thread.Task
	if t == nil || t.Goroutine == nil || t.Goroutine.Panic == 0 {
		return ""
	}
	for _, at := range [...]uint64{t.Goroutine.Panic, t.Goroutine.Panic + uint64(snap.Arch.AddrSize)} {
		if words = interfaceSays(snap, at); words != "" {
			return "it said: panic: " + words
		}
	}
	return ""
}

// closures are the addresses of the variables of the function that ends a program of Go, from the innermost one on.
func closures(snap *target.Snapshot, th *report.Thread) iter.Seq[uint64] {
	ends := slices.IndexFunc(th.Frames, func(f report.Frame) bool {
		return (f.Function == "runtime.throw" || f.Function == "runtime.fatal") && f.HasCFA
	})
	return func(yield func(uint64) bool) {
		inner := ends
		for inner > 0 && th.Frames[inner].CFA == th.Frames[ends].CFA { // inlined calls share their frame
			inner--
		}
		if inner < 0 || !th.Frames[inner].HasCFA {
			return
		}
		at, left := th.Frames[inner].CFA, maxSearched
		for ; at < th.Frames[ends].CFA && left > 0 && yield(at); left-- {
			at += uint64(snap.Arch.AddrSize)
		}
	}
}

// closureSays is the string that a closure at an address has captured.
func closureSays(snap *target.Snapshot, at uint64) string {
	code, _ := snap.Memory.Word(at)
	if m, ok := snap.ModuleAt(code); !ok || m.Image == nil || m.Image.Segments.Code(m.ToImage(code)) == nil {
		return ""
	}
	return goString(snap, at+uint64(snap.Arch.AddrSize))
}

// What Go's types say of themselves (internal/abi/type.go): the size first, 64 bits further than two words the kind.
const (
	goKinds                     = 31
	goInt, goUintptr, goStrings = 2, 12, 24
)

// interfaceSays is the value of an interface at an address, as the runtime would print it: a string or an integer.
func interfaceSays(snap *target.Snapshot, at uint64) string {
	word := uint64(snap.Arch.AddrSize)
	typ, _ := snap.Memory.Word(at)
	value, _ := snap.Memory.Word(at + word)
	size, ok := snap.Memory.Word(typ)
	kind, known := snap.Memory.Uint(typ+2*word+7, 1)
	_, constant := snap.ModuleAt(typ)
	switch kind &= goKinds; {
	case !ok || !known || !constant || value == 0:
	case kind == goStrings && size == 2*word:
		return goString(snap, value)
	case goInt <= kind && kind <= goUintptr && size <= word:
		if v, ok := snap.Memory.Uint(value, int(size)); ok {
			return integer(v, kind, size)
		}
	}
	return ""
}

// integer is a number of a type of Go: the first five kinds have a sign.
func integer(v, kind, size uint64) string {
	if shift := 64 - 8*size; kind < goInt+5 {
		return fmt.Sprint(int64(v<<shift) >> shift)
	}
	return fmt.Sprint(v)
}

// goString is a string of Go: its address and its length; "" for what no person reads.
func goString(snap *target.Snapshot, at uint64) string {
	text, _ := snap.Memory.Word(at)
	n, _ := snap.Memory.Word(at + uint64(snap.Arch.AddrSize))
	if n == 0 || n > maxMessage {
		return ""
	}
	words := make([]byte, n)
	if snap.Memory.Read(text, words) < len(words) || !utf8.Valid(words) {
		return ""
	}
	if strings.ContainsFunc(string(words), func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) {
		return ""
	}
	return strings.TrimSpace(string(words))
}
