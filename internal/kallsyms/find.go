package kallsyms

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/backsight/backsight/internal/budget"
)

// The tables as scripts/kallsyms.c writes them, each aligned to a word:
//
//	until 6.3                        from 6.4 on
//	kallsyms_offsets    n × 4        kallsyms_num_syms
//	kallsyms_relative_base  word     kallsyms_names
//	kallsyms_num_syms                kallsyms_markers
//	kallsyms_names                   kallsyms_token_table
//	kallsyms_markers    m × 4        kallsyms_token_index
//	kallsyms_seqs_of_names  n × 3    kallsyms_offsets
//	kallsyms_token_table             kallsyms_relative_base
//	kallsyms_token_index             kallsyms_seqs_of_names
//
// kallsyms_seqs_of_names exists since 6.2. Without CONFIG_KALLSYMS_BASE_RELATIVE, and until
// 4.5, kallsyms_addresses, n words, stands for offsets and base. Before 4.20 markers are
// words. In Linux 7 offsets count from where each of them lies, and there is no base.

// finder is the search for the tables around one token table.
type finder struct {
	data  []byte
	order binary.ByteOrder
	word  int
	tok   tokens

	markers    int // offset of kallsyms_markers
	marks      []uint32
	markerSize int
	names      packed
	numAt      int   // offset of kallsyms_num_syms
	starts     []int // of each name in names
	work       *budget.Budget
}

// errNone is that of data without tables.
var errNone = errors.New("no kallsyms tables")

// Find finds the kallsyms tables in the bytes of a kernel whose words have a size of word
// bytes, 4 or 8. The error says that there are none, or that the search ended before, at what
// data of this size may cost or with ctx.
func Find(ctx context.Context, data []byte, word int) (*Table, error) {
	work := budget.New("names tried", workFloor, uint64(len(data)))
	work.Until(ctx)
	for from := 0; ; {
		tok, order, ok := findTokens(data, from)
		if !ok {
			return nil, errNone
		}
		f := finder{data: data, order: order, word: word, tok: tok, work: &work}
		if t := f.find(); t != nil {
			return t, nil
		}
		if err := work.Err(); err != nil {
			return nil, fmt.Errorf("kallsyms tables: %w", err)
		}
		from = tok.end
	}
}

func (f *finder) find() *Table {
	for _, f.markerSize = range []int{4, f.word} {
		for f.markers = f.tok.at; f.previousMarkers(); {
			if !f.findNames() {
				continue
			}
			if t := f.addresses(); t != nil {
				return t
			}
		}
	}
	return nil
}

const (
	// namesPerMarker is how many names lie between two markers.
	namesPerMarker = 256
	// maxNames bounds the bytes between two markers.
	maxNames = 129 * namesPerMarker
	// maxSequences bounds the tables between markers and tokens, and with them the number
	// of symbols: kallsyms_seqs_of_names of a million symbols.
	maxSequences = 3 << 20
	maxSymbols   = 1 << 20
	// workFloor is what finding the names of all token tables may cost together, beside one
	// step for each byte: places tried and names walked. A kernel has one token table.
	workFloor = 1 << 22
)

// mark is marker i from an offset on, 0 beyond the data.
func (f *finder) mark(at, i int) uint32 {
	if at += i * f.markerSize; at < 0 || at+f.markerSize > f.tok.at {
		return 0
	}
	if f.markerSize == 8 {
		return uint32(f.order.Uint64(f.data[at:]))
	}
	return f.order.Uint32(f.data[at:])
}

// follows tells whether a marker can follow another: 256 names lie between them, each of
// one token at least and, on average, of 128 at most: mangled names of Rust next to one
// another have 70.
func follows(a, b uint32) bool {
	return b > a && b-a >= 2*namesPerMarker && b-a <= maxNames
}

// previousMarkers goes back to where the next array of markers may begin: 0, and numbers
// that rise by the size of 256 names.
func (f *finder) previousMarkers() bool {
	for at := (f.markers - 1) &^ 3; at >= max(0, f.tok.at-maxSequences) && f.work.Draw(1); at -= 4 {
		if f.mark(at, 0) != 0 || !follows(0, f.mark(at, 1)) || !follows(f.mark(at, 1), f.mark(at, 2)) {
			continue
		}
		f.markers, f.marks = at, []uint32{0}
		for i := 1; follows(f.marks[i-1], f.mark(at, i)) && i < maxSymbols/namesPerMarker; i++ {
			f.marks = append(f.marks, f.mark(at, i))
		}
		return true
	}
	return false
}

// findNames finds where the names begin that end before the markers. The number of symbols
// stands before the names and agrees with the number of markers, and every 256th name
// begins where its marker says.
func (f *finder) findNames() bool {
	last, lowest := f.marks[len(f.marks)-1], f.markers-int(f.marks[len(f.marks)-1])-maxNames
	if len(f.marks) > 3 {
		last = f.marks[len(f.marks)-2] // the last one may be of the table behind the markers
	}
	for at := f.markers - int(last)&^3; at > max(f.word, lowest) && f.work.Draw(1); at -= 4 {
		for _, back := range []int{f.word, 4} {
			n := int(f.order.Uint32(f.data[at-back:]))
			m := (n + namesPerMarker - 1) / namesPerMarker
			if m < 3 || m > len(f.marks) || m < len(f.marks)-1 || !f.walk(at, n) {
				continue
			}
			f.numAt = at - back
			return true
		}
	}
	return false
}

// walk goes through n names from an offset on, and tells whether they lie where the markers
// say.
func (f *finder) walk(at, n int) bool {
	for _, short := range []bool{false, true} {
		f.names = packed{tokens: f.tok, names: f.data[at:f.markers], short: short}
		if f.walkNames(n) {
			return true
		}
	}
	return false
}

func (f *finder) walkNames(n int) bool {
	f.starts = f.starts[:0]
	for i, off := 0, 0; i < n; i++ {
		if i%namesPerMarker == 0 && off != int(f.marks[i/namesPerMarker]) {
			return false
		}
		f.starts = append(f.starts, off)
		next, ok := f.names.next(off)
		if !ok || !f.work.Draw(1) {
			return false
		}
		off = next
	}
	return true
}
