package diagnose

import (
	"iter"
	"slices"

	"github.com/backsight/backsight/target"
)

// kept are the variables in which libraries keep the words with which they end a program, for whoever reads its core: a pointer to text,
// behind a header of so many bytes.
//
//	__abort_msg        glibc, include/stdlib.h and malloc's, assert's and fortify's messages: a size in front
//	__glib_assert_msg  GLib, gtestutils.c
var kept = [...]struct {
	symbol string
	header uint64
}{{"__abort_msg", 4}, {"__glib_assert_msg", 0}}

// maxMessage bounds a message in bytes.
const maxMessage = 1 << 10

// appendSaid appends a library's message, and what the runtimes of languages say, where they do.
func appendSaid(reasons []string, words string, others ...string) []string {
	if words != "" {
		reasons = append(reasons, "it said: "+words)
	}
	return append(reasons, slices.DeleteFunc(others, func(s string) bool { return s == "" })...)
}

// lastWords is the message with which a library ended the program of snap, "" where none is kept. A program that is linked
// dynamically has the libraries' variables in the libraries.
func lastWords(snap *target.Snapshot) string {
	for i := range kept {
		for variable := range placesOf(snap, kept[i].symbol, false) {
			if at, ok := snap.Memory.Word(variable); ok && at != 0 {
				if words := text(snap, at+kept[i].header); words != "" {
					return words
				}
			}
		}
	}
	return mappedWords(snap)
}

// mappedWords is the message that Android's C library keeps in a mapping of its own, whose first sixteen bytes say so and whose next
// word is its size (bionic, android_set_abort_message.cpp): what ART, fortify, assert and the log ended the program with.
func mappedWords(snap *target.Snapshot) string {
	if !slices.ContainsFunc(snap.Modules, isLinker) {
		return "" // another system's: its memory is not gone through
	}
	const first, second = 0xb18e40886ac388f0, 0xc6dfba755a1de0b5
	word := uint64(snap.Arch.AddrSize)
	for _, seg := range snap.Memory.Segments() {
		if seg.Size() < 16+word {
			continue
		}
		a, _ := snap.Memory.Uint(seg.Addr, 8)
		if b, _ := snap.Memory.Uint(seg.Addr+8, 8); a == first && b == second {
			return text(snap, seg.Addr+16+word)
		}
	}
	return ""
}

// isLinker tells whether a module is Android's dynamic linker, which each program there has.
func isLinker(m *target.Module) bool { return m.Base() == "linker" || m.Base() == "linker64" }

// placesOf are the target addresses of a symbol, of each binary that shows it to others. copied: also of a program that is linked
// dynamically, which has copies of its libraries' variables.
func placesOf(snap *target.Snapshot, symbol string, copied bool) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, m := range snap.Modules {
			if m.Image == nil || m.Image.Interpreted && !copied {
				continue
			}
			if s, ok := m.Image.Symbols.Loaded(symbol); ok && !yield(m.ToTarget(s.Addr)) {
				return
			}
		}
	}
}
