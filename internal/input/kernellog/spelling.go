package kernellog

import (
	"github.com/backsight/backsight/target"
)

// spellings are the names that entries have which are the same place of functions as long as each other. A console changes a
// letter of one; other entries spell the name right:
//
//	ksys_wrrte+0x6b/0xe0      once
//	ksys_write+0x6b/0xe0      in all other reports
//
// Functions of one family may differ in a letter as well, but seldom have the same length and a call at the same offset.
type spellings map[spelled][]spelling

// spelled is what entries have in common that may be one, with different spellings.
type spelled struct {
	offset, size uint64
	length       int // of the name
}

// spelling is a name, and how many entries have that.
type spelling struct {
	symbol  string
	entries int
}

// maxSpellings bounds the names that are compared with another.
const maxSpellings = 16

// spellingsOf takes the names out of all reports.
func spellingsOf(records []*record) spellings {
	s := spellings{}
	for _, r := range records {
		for i := range r.trace.listed {
			if l := &r.trace.listed[i]; l.Symbol != "" && l.Size != 0 {
				s.add(spelled{l.Offset, l.Size, len(l.Symbol)}, l.Symbol)
			}
		}
	}
	return s
}

// add counts an entry.
func (s spellings) add(key spelled, symbol string) {
	list := s[key]
	for i := range list {
		if list[i].symbol == symbol {
			list[i].entries++
			return
		}
	}
	if len(list) < maxSpellings {
		s[key] = append(list, spelling{symbol, 1})
	}
}

// deny tells whether an entry alone has its name, and several have one that differs in a letter.
func (s spellings) deny(l *target.Listed) bool {
	several := false
	for _, o := range s[spelled{l.Offset, l.Size, len(l.Symbol)}] {
		if o.symbol == l.Symbol && o.entries > 1 {
			return false
		}
		several = several || o.entries > 1 && isLetterAway(o.symbol, l.Symbol)
	}
	return several && l.Size != 0
}

// isLetterAway tells whether names that are as long as each other differ in one letter.
func isLetterAway(a, b string) bool {
	differ := 0
	for i := 0; i < len(a) && differ < 2; i++ {
		if a[i] != b[i] {
			differ++
		}
	}
	return differ == 1
}

// doubtSpelling doubts entries whose names all others spell in another way.
func doubtSpelling(e *evidence, listed []target.Listed) []target.Listed {
	for i := range listed {
		if e.spellings.deny(&listed[i]) {
			listed[i].Gap = true
		}
	}
	return listed
}
