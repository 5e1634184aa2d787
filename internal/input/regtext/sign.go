package regtext

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// Signs are those of lines with registers: two of them, or one that is enough by its name, or by where in the line it stands. They
// are of more lines than have registers by Line.
func (v *Vocabulary) Signs(enough func(name string) bool) []phrases.Sign {
	also := func(line []byte, at int) bool { return v.mayBeName(line, at) && v.sign(line, at, enough) }
	signs := callPhrases.Signs()
	for two, third := range v.thirds() {
		signs = append(signs, phrases.Sign{Text: two, Word: true, Also: also, Behind: third})
	}
	for _, two := range [...]string{"r ", "R ", "r\t", "R\t"} { // R   0: 00000000
		signs = append(signs, phrases.Sign{Text: two, Word: true, Also: also})
	}
	return signs
}

// thirds are the bytes that may stand behind the two letters with which the name of a register begins, in upper or lower case.
func (v *Vocabulary) thirds() map[string]*[256]bool {
	all := map[string]*[256]bool{}
	for name := range v.names {
		addThird(all, name[:2], name[2:])
		if len(name) == 2 {
			addThird(all, name[:1]+"0", name[1:]) // r07
		} else {
			addThird(all, name[:1]+"0", "0")
		}
	}
	return all
}

// addThird adds what stands behind two letters: rest, which is empty where the name ends. The number behind a letter may be any: x77.
func addThird(all map[string]*[256]bool, two, rest string) {
	third := all[two]
	if third == nil {
		third = new([256]bool)
		for _, c := range [...]string{two, strings.ToUpper(two), strings.ToUpper(two[:1]) + two[1:], two[:1] + strings.ToUpper(two[1:])} {
			if phrases.IsWord(c[0]) {
				all[c] = third
			}
		}
	}
	number := phrases.IsDigit(two[1])
	for i := range third {
		c := byte(i)
		third[c] = third[c] || !phrases.IsWord(c) && (rest == "" || number) || rest != "" && lowered(c) == rest[0] || number && phrases.IsDigit(c)
	}
}

// maxApart bounds in bytes what is looked at of a line for a sign. Where more stands between a name and its value, that is taken for
// a sign.
const maxApart = 160

// sign tells whether a register stands at a place of a line, and is enough or has another behind.
func (v *Vocabulary) sign(line []byte, at int, enough func(name string) bool) bool {
	name, next, ok := v.registerAt(line, at)
	switch {
	case !ok:
		return false
	case name == "", at == 0, enough(name), name[0]|0x20 == 'r' && phrases.IsDigit(name[1]): // rows of values have the first's name alone
		return true
	}
	for at = next; at < len(line); at++ {
		if !phrases.IsWord(line[at]) {
			continue
		}
		if _, _, ok := v.registerAt(line, at); ok {
			return true
		}
		for at < len(line) && phrases.IsWord(line[at]) {
			at++
		}
	}
	return false
}

// registerAt is the register whose name begins at a place of a line, and where the line goes on behind the name. The name is "" where
// that is enough: more stands up to the value than is looked at, or a segment in front of the value.
func (v *Vocabulary) registerAt(line []byte, at int) (name string, next int, ok bool) {
	begin := at
	for begin > 0 && line[begin-1] == '_' {
		begin--
	}
	if begin > 0 && phrases.IsWord(line[begin-1]) {
		return "", 0, false
	}
	name, next = v.named(line, at)
	if name == "" {
		return "", 0, false
	}
	for next+1 < len(line) && line[next] == '/' && phrases.IsWord(line[next+1]) { // r15/pc
		if next = wordEnd(line, next+1); next-at > maxApart {
			return "", next, true
		}
	}
	s := skipSpaces(line, next)
	switch {
	case s-next > maxApart:
		return "", s, true
	case s == len(line) || !mayBeValue(line[s:], loose(name)):
		return "", 0, false
	}
	rest := string(line[s:min(len(line), s+maxApart)])
	if colon, segment, _ := strings.Cut(rest, " "); colon == ":" && skipSelector(segment, 0) > 0 {
		return "", next, true // whatever follows: RIP: 0010:toy_put (fs/toy.c:31)
	}
	if _, _, ok = value(rest, 0, loose(name)); !ok {
		return "", next, len(rest) == maxApart && strings.IndexByte("[(])", rest[0]) >= 0
	}
	return name, next, true
}

// mayBeName tells at a look whether a word may be a register's name: one begins like that, is as long, and ends so.
func (v *Vocabulary) mayBeName(line []byte, at int) bool {
	n := 1
	for at+n < len(line) && n <= maxName && phrases.IsWord(line[at+n]) {
		n++
	}
	return n == 1 || n <= 3 && phrases.IsDigit(line[at+1]) || n <= maxName && v.shapes[beginning(line[at:])]&shape(line[at:at+n]) != 0
}

// named is the name of a register that a word is, and where the word ends.
func (v *Vocabulary) named(line []byte, at int) (name string, end int) {
	end = wordEnd(line, at)
	if end-at > maxName {
		return "", end
	}
	if name = registerOf(v, line[at:end]); name == "" && isNumbered(line[at:end]) {
		return string(line[at:end]), end
	}
	if name == "" && end == at+1 && line[at]|0x20 == 'r' {
		digits := skipSpaces(line, end)
		stop := wordEnd(line, digits)
		if stop > digits && stop-digits < maxName {
			return v.names["r"+string(line[digits:stop])], stop
		}
	}
	return name, end
}

// isNumbered tells whether a word is one of those by which kernels call registers, whatever the number: x77.
func isNumbered(word []byte) bool {
	return (len(word) == 2 || len(word) == 3) && strings.IndexByte("xrsta", word[0]|0x20) >= 0 && phrases.IsDigit(word[1]) && phrases.IsDigit(word[len(word)-1])
}

// mayBeValue tells at a look whether a value may begin where a name's blanks end.
func mayBeValue(s []byte, loose bool) bool {
	const least = 8 // digits of a number that nothing marks as one
	switch c := s[0]; {
	case strings.IndexByte(")]([:=>-", c) >= 0:
		return true
	case !phrases.IsHex(c):
		return false
	case loose, len(s) > 1 && (c == '0' && s[1]|0x20 == 'x' || c|0x20 == 'a' && s[1]|0x20 == 'd'), len(s) > 4 && s[4] == ':': // 0x, address, a segment
		return true
	}
	return len(s) >= least && phrases.IsHex(s[least-1])
}
