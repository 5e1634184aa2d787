package diagnose

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// exceptionClasses mark a C++ exception that is thrown, of libstdc++ (unwind-cxx.h) and libc++abi (cxa_exception.h): "GNUCC++\0" and
// "CLNGC++\0". The object follows the mark's header; in front of the header, at the same distance in both, stands its type.
var exceptionClasses = [...]uint64{0x474e5543432b2b00, 0x434c4e47432b2b00}

// Distances of 64-bit systems: from the mark back to the type, and on to the object; a type's name is its second word, its base the third.
const (
	exceptionType, exceptionObject = 80, 32
	typeName, typeBase             = 8, 16
	maxBases                       = 8
)

// uncaught says which C++ exception nobody caught, "" where the thread threw none, or its names do not tell. The function that throws
// keeps the exception in a register, which the functions that it calls save: between their frames and its own lies the address.
func uncaught(snap *target.Snapshot, th *report.Thread) string {
	throws := func(f report.Frame) bool { return f.Function == "__cxa_throw" }
	k := slices.IndexFunc(th.Frames, throws)
	if k < 1 || snap.Arch.AddrSize != 8 || !th.Frames[k].HasCFA || !th.Frames[0].HasCFA {
		return ""
	}
	lo, hi := th.Frames[0].CFA, th.Frames[k].CFA
	for at, left := hi-8, maxSearched; at >= lo && at < hi && left > 0; at, left = at-8, left-1 {
		if header, ok := snap.Memory.Uint(at, 8); ok {
			if class, ok := snap.Memory.Uint(header, 8); ok && slices.Contains(exceptionClasses[:], class) {
				return described(snap, header)
			}
		}
	}
	return ""
}

// maxSearched is how many words lie between the function that throws and abort, at most.
const maxSearched = 1 << 12

// described is the sentence about an exception, by its header.
func described(snap *target.Snapshot, header uint64) string {
	info, _ := snap.Memory.Uint(header-exceptionType, 8)
	name := typeOf(snap, info)
	if name == "" {
		return ""
	}
	says := "an exception of type " + name + " was not caught"
	tables := oneBase(snap)
	for range maxBases {
		if words, known := what(snap, typeMangled(snap, info), header+exceptionObject); known {
			if words != "" {
				says += ": " + words
			}
			break
		}
		if table, ok := snap.Memory.Uint(info, 8); !ok || !slices.Contains(tables, table) {
			break
		}
		info, _ = snap.Memory.Uint(info+typeBase, 8)
	}
	return says
}

// typeMangled is the name of a type_info as the compiler writes it. One that begins with a star is compared by its address.
func typeMangled(snap *target.Snapshot, info uint64) string {
	at, ok := snap.Memory.Uint(info+typeName, 8)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(text(snap, at), "*")
}

// typeOf is the name of a type_info as programmers write it, "" where there is none.
func typeOf(snap *target.Snapshot, info uint64) string {
	const prefix = "typeinfo name for "
	mangled := typeMangled(snap, info)
	if name := symbol.Demangled("_ZTS" + mangled); mangled != "" && strings.HasPrefix(name, prefix) {
		return strings.TrimPrefix(name, prefix)
	}
	return ""
}

// oneBase are the tables of virtual functions of __si_class_type_info (Itanium C++ ABI, 2.9.5), the type information of a class with one
// base, at its beginning: a pointer to such a table leads behind its first two words.
func oneBase(snap *target.Snapshot) (tables []uint64) {
	for at := range placesOf(snap, "_ZTVN10__cxxabiv120__si_class_type_infoE", true) {
		tables = append(tables, at+16)
	}
	return tables
}

// what is the message of an object of the standard library's classes that keep one: known tells that the class is one of these. Its
// text lies where the word behind the pointer to the virtual functions points to (libstdc++, cow-stdexcept.cc; libc++, refstring).
func what(snap *target.Snapshot, mangled string, object uint64) (words string, known bool) {
	if mangled != "St13runtime_error" && mangled != "St11logic_error" {
		return "", false
	}
	if at, ok := snap.Memory.Uint(object+8, 8); ok {
		words = text(snap, at)
	}
	return words, true
}
