package kernellog

import (
	"math"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// Mail breaks lines at spaces, before the word that does not fit into some 72 columns. What a message lacks at its end tells
// that the next line goes on with it; where messages have a time, or another prefix, any line without does whose first word
// did not fit into the width of the others. Terminals break lines where they end.
//
//	[   33.347196] [<c02d1110>] (free_toy.constprop.0) from [<c02d1aa4>]
//	(cache_free_toy+0x3ac/0x6f4)

// messages are those of a log, each with the lines into which it was broken.
type messages struct {
	log   *console.Log
	at    int          // the next line
	next  console.Line // what it says
	ahead bool         // next was read
	width int          // into which lines with a prefix were broken, 0: not yet known
	hard  bool         // within words
}

// maxWrapped is how many further lines a message may have.
const maxWrapped = 16

// peek is the next line.
func (m *messages) peek() *console.Line {
	if !m.ahead {
		m.next, m.ahead = m.log.Message(m.at), true
	}
	return &m.next
}

// read is the next message, and which is its last line.
func (m *messages) read() (l console.Line, last int) {
	l = *m.peek()
	m.at, m.ahead = m.at+1, false
	if l.Fragment() {
		return l, m.at - 1
	}
	width := l.Width
	for more := 0; l.Text != "" && more < maxWrapped && m.at < m.log.Len(); more++ {
		next := m.peek()
		if !next.Bare && !isPlaceOfFault(l.Text, next.Text) {
			break
		}
		if isTorn(&l, next) {
			l.Text += next.Text
			m.skip()
			continue
		}
		fits := fitsBehind(l.Text)
		if next.Text == "" { // pages put a blank line behind each
			m.pass(fits)
		}
		text := strings.TrimLeft(next.Text, "+") // of who breaks a line by hand
		said, soft := softBreak(l.Text)
		if next.Bare && (text == "" || !soft && !fits(text) && (l.Bare || !m.broken(width, text) || !joins(l.Text, text))) {
			break
		}
		if l.Text = said; !soft && (!m.hard || width != m.width) {
			l.Text += " "
		}
		l.Text += text
		width = next.Width
		m.at, m.ahead = m.at+1, false
	}
	return l, m.at - 1
}

// isTorn tells whether next is the rest of an entry of which l, which has a time, is the beginning: a symbol was broken in two.
//
//	[   48.123456]  vfs_wri
//	te+0xb0/0x394
func isTorn(l, next *console.Line) bool {
	_, name, _ := cutLast(" "+l.Text, ' ')
	return l.Time != "" && next.Bare && isSymbol(strings.TrimLeft(name, "(")) && isEntry(next.Text) && !isEntry(l.Text) && isEntry(l.Text+next.Text)
}

// softBreak takes off what mail as it is sent puts where it breaks a line, within words too (RFC 2045, 6.7): "(dump_sta=".
func softBreak(text string) (said string, ok bool) {
	said, ok = strings.CutSuffix(text, "=")
	if !ok || said == "" || strings.HasSuffix(said, "=") { // checkers print lines of =
		return text, false
	}
	return said, true
}

// skip leaves the next line out.
func (m *messages) skip() { m.at, m.ahead = m.at+1, false }

// goTo goes on at a line.
func (m *messages) goTo(i int) {
	if i != m.at {
		m.at, m.ahead = i, false
	}
}

// pass goes on to the line behind a blank one if that fits.
func (m *messages) pass(fits func(rest string) bool) {
	if l := m.log.Message(m.at + 1); l.Bare && l.Text != "" && fits(strings.TrimLeft(l.Text, "+")) {
		m.at, m.next = m.at+1, l
	}
}

// The widths into which mail breaks lines, and terminals at most; and how many lines are broken at least, of which else one
// might by chance be the longest.
const minWidth, maxWidth, maxColumns, minBroken, minHard = 60, 100, 240, 2, 3

// broken tells whether a line was broken before the rest because that did not fit.
func (m *messages) broken(width int, rest string) bool {
	if m.width == 0 {
		m.width, m.hard = brokenTo(m.log)
	}
	word, _ := cutWord(rest)
	return width == m.width || !m.hard && width+1+len(word) > m.width
}

// minColumns is the least width into which lines were broken, if all further lines stand behind lines that would have been
// wider with their first words, however wide others are: mail has 72 to 80 columns.
const minColumns = 68

// joins tells whether a message may go on with text: an entry of a chain stays one, and parts of a log may have prefixes
// and others none.
func joins(message, text string) bool {
	if text[0] == '`' || isSnip(text) || isTraceHeader(message) || isEntry(message) && !isEntry(message+" "+text) {
		return false
	}
	_, _, heading := headingOf(text)
	return !heading && !isTraceHeader(text) && len(parseRegisters(text)) == 0 && !strings.HasPrefix(text, "Code:") && !strings.HasPrefix(text, "Stack")
}

// brokenTo is the width into which the lines of a log were broken that have a prefix, else more than any line has. hard:
// a terminal broke them where it ended, within words, and not mail.
func brokenTo(log *console.Log) (width int, hard bool) {
	ends := brokenEnds(log)
	if len(ends) < minBroken { // then no other line need be read
		return math.MaxInt, false
	}
	width = widest(log)
	soft, atEnd, wide := 0, 0, 0
	for _, e := range ends {
		if e.whole > minColumns {
			wide++
		}
		if e.width == width {
			atEnd++
		} else if e.whole > width {
			soft++
		}
	}
	switch {
	case width < minWidth:
	case soft == 0 && atEnd >= minHard && width <= maxColumns:
		return width, true
	case wide >= minBroken && wide == len(ends):
		return minColumns, false
	case soft+atEnd >= minBroken && width <= maxWidth:
		return width, false
	}
	return math.MaxInt, false
}

// end is how wide a line is behind which one without a prefix stands, and how wide with that line's first word.
type end struct{ width, whole int }

// brokenEnds are those of the lines with a prefix that are no wider than terminals are.
func brokenEnds(log *console.Log) (ends []end) {
	for i := log.Broken(0); i < log.Len(); i = log.Broken(i + 1) {
		var last console.Line
		if i > 0 {
			last = log.Message(i - 1)
		}
		l := log.Message(i)
		if word, _ := cutWord(l.Text); l.Bare && l.Text != "" && !last.Bare && last.Width <= maxColumns {
			ends = append(ends, end{last.Width, last.Width + 1 + len(word)})
		}
	}
	return ends
}

// widest is how wide the widest line with a prefix is; of lines that are wider than terminals are, the first.
func widest(log *console.Log) (width int) {
	for i := 0; i < log.Len() && width <= maxColumns; i++ {
		if l := log.Message(i); !l.Bare {
			width = max(width, l.Width)
		}
	}
	return width
}

// fitsBehind tells what the rest of a message is like that lacks its end.
func fitsBehind(text string) (fits func(rest string) bool) {
	switch {
	case lacksCaller(text):
		return isCaller
	case lacksAddress(text):
		return func(rest string) bool { return faultIn(text + " " + rest).known }
	case strings.Contains(text, "omm: ") && strings.Contains(text, "ainted") && releaseIn(text) == "":
		return func(rest string) bool { return releaseIn(text+" "+rest) != "" }
	case strings.HasPrefix(text, "WARNING: ") && !strings.Contains(text, "+0x"):
		return func(rest string) bool {
			p, _, ok := parsePlace(strings.TrimPrefix(rest, "at "))
			return ok && p.symbol != ""
		}
	case holdsLock(text): // and where it was taken
		return isEntry
	case strings.HasSuffix(text, ":"):
		return func(rest string) bool { return registersGoOn(text, rest) }
	case isShortRow(text):
		return func(rest string) bool { return rowGoesOn(text, rest) }
	case isShortDump(text):
		return func(rest string) bool { return isWords(strings.Fields(text[5:]), strings.Fields(rest)) }
	case lacksModule(text):
		return func(rest string) bool { return len(text)+len(rest) >= minWrapped && isModule(rest) }
	}
	return func(rest string) bool { return isRest(text, rest) }
}

// minWrapped is how long a message without its prefix is at least that mail breaks.
const minWrapped = 44

// lacksCaller tells whether a message is an entry of ARM's chain that ends behind "from", behind the caller's address, or
// within parentheses.
func lacksCaller(text string) bool {
	if strings.HasSuffix(text, " from") || strings.HasPrefix(text, "[<") && strings.Count(text, "(") > strings.Count(text, ")") {
		return true
	}
	i := strings.LastIndexByte(text, ' ')
	_, rest, ok := cutBracketed(text[i+1:])
	return ok && rest == "" && i > 0 && strings.HasSuffix(text[:i], " from") && strings.HasPrefix(text, "[<")
}

// isCaller tells whether a line goes on with such an entry: "(mid_b+0x50/0x7c)", "[<c0045678>] (mid_b+0x50/0x7c)",
// "mid_b+0x50/0x7c [crashy]", "[crashy]) from [<c0045678>] (mid_b+0x50/0x7c)".
func isCaller(rest string) bool {
	p, _, ok := parsePlace(rest)
	_, behind := cutModule(rest)
	return ok && (p.hasAddr || p.symbol != "") || strings.HasPrefix(behind, ")")
}

// lacksAddress tells whether a message says that there was a bad access, but not where.
func lacksAddress(text string) bool {
	return strings.HasPrefix(text, "Unable to handle kernel ") && !faultIn(text).known
}

// registersGoOn tells whether text ends in a register's name, of which rest has the value: "pc : [<c0012345>]  lr : [<c0012346>]  psr:".
func registersGoOn(text, rest string) bool {
	fields := strings.Fields(strings.TrimRight(text, ": "))
	value, _ := cutWord(rest)
	n := digitsOf(strings.Trim(value, "[<>]"))
	return len(fields) > 0 && isRegister(strings.ToLower(fields[len(fields)-1])) && (n == 8 || n == 16)
}

// isShortRow tells whether a message is a row of MIPS' registers, which are four at most: "$ 4   : 8000000000000000 0000000000000001".
func isShortRow(text string) bool {
	name, values, ok := strings.Cut(text, ":")
	return ok && strings.HasPrefix(name, "$") && len(strings.Fields(values)) < 4
}

// rowGoesOn tells whether rest has further values of such a row, and no more.
func rowGoesOn(text, rest string) bool {
	_, values, _ := strings.Cut(text, ":")
	words := strings.Fields(values + " " + rest)
	digits := digitsOf(words[len(words)-1])
	return len(words) <= 4 && (digits == 8 || digits == 16) && !slices.ContainsFunc(words, func(w string) bool { return digitsOf(w) != digits })
}

// isShortDump tells whether a message is a line of ARM's dump of the stack with fewer than the eight words that fit.
func isShortDump(text string) bool {
	return len(text) >= 5 && text[4] == ':' && digitsOf(text[:4]) == 4 && len(strings.Fields(text)) <= 8
}

// isWords tells whether words go on with those of a line of ARM's dump.
func isWords(before, words []string) bool {
	for _, w := range words {
		if digitsOf(w) != 8 {
			return false
		}
	}
	return len(before)+len(words) <= 8
}

// lacksModule tells whether a message is an entry of a chain, or a register, in whose place no module is named.
func lacksModule(text string) bool {
	i := strings.LastIndexByte(text, ' ')
	var p place
	return p.setSymbol(text[i+1:]) && p.size != 0
}

// isModule tells whether rest is "[crashy]" and no more; [snip] and [...] stand for lines that somebody left out.
func isModule(rest string) bool {
	name, behind := cutModule(rest)
	return behind == "" && name != "snip" && isSymbol(strings.ReplaceAll(name, "-", "_")) && len(rest) == len(name)+2
}

// Lines of x86's reports that mail and narrow terminals break at a space:
//
//	[ 2423.571314] RIP: 0010:[<ffffffff8118d0fa>]  [<ffffffff8118d0fa>]
//	toy_copy+0x8a/0x2a0
//	[ 2423.570426] CPU: 16 PID: 2869 Comm: toyd Not tainted
//	3.11.0-15-generic #25

// isRest tells whether text is the rest of a message that would not end where before does, of those that x86's kernels print.
func isRest(before, text string) bool {
	if len(before) > maxBroken || text == "" || isSnip(text) {
		return false
	}
	last := before[strings.LastIndexByte(before, ' ')+1:]
	switch {
	case last == "?", strings.HasSuffix(last, ">]"), len(last) == len("<c0123456>") && last[0] == '<' && digitsOf(last[1:9]) == 8: // an address, and its symbol
		p, _, ok := parsePlace(text)
		return ok && p.symbol != "" || strings.HasPrefix(text, "? ") && isEntry(text) || isPointerRegister(before) && strings.HasPrefix(text, "[<")
	case strings.HasPrefix(text, "["): // a symbol, and its module or its task
		_, rest := cutModule(text)
		return strings.Trim(rest, "()") == "" && (endsInPlace(last) || strings.HasSuffix(before, " stuck for "+secondsIn(before)+"s!"))
	}
	return isRestOfHeading(before, last, text)
}

// isRestOfHeading tells whether text is the rest of the line that names the process, or the address of a fault.
func isRestOfHeading(before, last, text string) bool {
	if h, ok := processHeading(before); ok && h.release == "" {
		_, another := processHeading(text)
		return !another && (strings.Contains(text, " #") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "Tainted:") || strings.HasPrefix(text, "Not tainted"))
	}
	address := text
	switch last {
	case "at", "address", "address:":
	default:
		rest, ok := strings.CutPrefix(text, "at ")
		if address = strings.TrimPrefix(rest, "virtual address "); !ok {
			return false
		}
	}
	_, hex := phrases.Hex(address)
	return hex && (strings.Contains(before, "nable to handle ") || strings.Contains(before, " NULL pointer "))
}

// isPlaceOfFault tells whether text says where the fault of the message before happened, which kernels for x86-64 before
// Linux 2.6.25 print in a line of its own (arch/x86_64/mm/fault.c, do_page_fault):
//
//	Unable to handle kernel NULL pointer dereference at 0000000000000010 RIP:
//	 [<ffffffff8813b1cf>] :toy:toy_poll+0x43/0x57
func isPlaceOfFault(before, text string) bool {
	return strings.HasSuffix(before, " RIP:") && strings.Contains(before, "nable to handle ") && (strings.HasPrefix(text, "[<") || strings.HasPrefix(text, "<"))
}

// maxBroken bounds a message that a line goes on with.
const maxBroken = 400

// isPointerRegister tells whether a message begins with the register that has the PC.
func isPointerRegister(text string) bool {
	return strings.HasPrefix(text, "RIP: ") || strings.HasPrefix(text, "EIP: ")
}

// endsInPlace tells whether a word is a symbol with an offset.
func endsInPlace(word string) bool {
	p, rest, ok := parsePlace(word)
	return ok && p.symbol != "" && rest == ""
}

// secondsIn is the number behind "stuck for ", "" for none.
func secondsIn(text string) string {
	_, rest, _ := strings.Cut(text, " stuck for ")
	n, _, _ := strings.Cut(rest, "s!")
	return n
}
