package diagnose

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// variables are the addresses of the words of a thread's frame k, from the innermost one on; none where k is negative or
// its bounds are not known.
func variables(snap *target.Snapshot, th *report.Thread, k int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		inner := k
		for inner > 0 && th.Frames[inner].CFA == th.Frames[k].CFA { // inlined calls share their frame
			inner--
		}
		if inner < 0 || !th.Frames[inner].HasCFA || !th.Frames[k].HasCFA {
			return
		}
		at, left := th.Frames[inner].CFA, maxSearched
		for ; at < th.Frames[k].CFA && left > 0 && yield(at); left-- {
			at += uint64(snap.Arch.AddrSize)
		}
	}
}

// text is a string of C in target memory, without blanks around; "" where it has no end, or is none.
func text(snap *target.Snapshot, addr uint64) string {
	return strings.TrimSpace(snap.Memory.CString(addr, maxMessage))
}

// counted is a string of a language whose strings are an address and a length, as they stand at an address of target memory;
// "" for what no person reads.
func counted(snap *target.Snapshot, at uint64) string {
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
	return strings.Join(strings.Fields(string(words)), " ") // of several lines, one
}
