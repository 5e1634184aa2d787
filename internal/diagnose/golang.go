package diagnose

import (
	"fmt"
	"slices"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// goDied is the message with which Go's runtime ended the program, "" where the thread did not end so, or the message is not found.
//
//   - A goroutine knows its panic, which begins with the value, an interface, up to Go 1.25 one word further on. Errors and Stringers
//     were made strings before (runtime/panic.go, preprintpanics).
//   - runtime.throw and runtime.fatal print from a closure, which lies among their variables: code, and the message.
func goDied(snap *target.Snapshot, th *report.Thread) (words string) {
	ends := slices.IndexFunc(th.Frames, func(f report.Frame) bool { return f.Function == "runtime.throw" || f.Function == "runtime.fatal" })
	for at := range variables(snap, th, ends) {
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

// closureSays is the string that a closure at an address has captured.
func closureSays(snap *target.Snapshot, at uint64) string {
	code, _ := snap.Memory.Word(at)
	if m, ok := snap.ModuleAt(code); !ok || m.Image == nil || m.Image.Segments.Code(m.ToImage(code)) == nil {
		return ""
	}
	return counted(snap, at+uint64(snap.Arch.AddrSize))
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
		return counted(snap, value)
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
