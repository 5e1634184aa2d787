package listing

import (
	"bytes"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// signs are what a line has that begins a record or a list, or says which list follows: headings, titles, and of each of forms that is
// not weak what its frames have.
func signs(*input.Env) console.Signs {
	all := phrases.Texts(append(says(),
		", tid: ", " sp ", " sp:", "sending SIGSEGV", "]: unhandled ", "unexpected fatal ", "{{{", "goroutine ", "#012", "#011", // headings
		"[0x", "(+", "@ ", "eax=", "rax=", "@\t", "[unknown]", "Binary", "lr: ", "lr:\t", // glibc, Wine, glog, perf, Python, macOS
		") at ", ") at\t", "(mapped at ", "[Callstack]", "  Args", // BSD, FRR, Unreal, Cygwin
	)...)
	type also = func([]byte, int) bool
	for _, s := range [...]struct {
		before, behind string
		also           also
	}{
		{"", "#", hasBlank}, {"#", "", nil}, {"==", "", nil}, {"", ":", isAddress}, {"+", "", isOffset},
	} {
		for _, c := range "0123456789" {
			all = append(all, phrases.Sign{Text: s.before + string(c) + s.behind, Also: s.also})
		}
	}
	all = append(all, phrases.Sign{Text: "Thread ", Word: true, Also: isNumber}) // minidump_stackwalk
	for _, c := range "abcdefABCDEF" {
		all = append(all, phrases.Sign{Text: string(c) + ":", Also: isAddress})
	}
	for _, c := range " \t" {
		for _, s := range [...]phrases.Sign{{Text: "+" + string(c), Also: isApart}, {Text: "C" + string(c), Also: hasBracket}, {Text: "V" + string(c), Also: hasBracket},
			{Text: " :" + string(c), Also: isValue}, {Text: "\t:" + string(c), Also: isValue}} {
			all = append(all, s)
		}
	}
	return console.Signs{Phrases: all, Ends: isTitle}
}

// isTitle tells whether a line says which list follows.
func isTitle(line []byte) bool {
	switch line[len(line)-1] {
	case ':', '>', 0xa0: // pages put <br> and blanks behind a line, <br/> too
		return true
	case '0':
		return bytes.HasSuffix(line, []byte("=20"))
	case ')': // and Android a process
		return bytes.Contains(line, []byte("  ("))
	}
	return false
}

// blank is where the blanks end that begin at at.
func blank(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// isNumber tells whether a number stands behind "Thread ".
func isNumber(line []byte, at int) bool {
	at += len("Thread ")
	return at < len(line) && phrases.IsDigit(line[at])
}

// hasBlank tells whether a blank stands behind a number and its mark: "0# main at toy.c:5".
func hasBlank(line []byte, at int) bool { return at+2 < len(line) && isBlank(line[at+2]) }

// hasBracket tells whether a bracket stands behind a letter and blanks: "C  [libc.so+0x12]".
func hasBracket(line []byte, at int) bool {
	if at > 0 && !isBlank(line[at-1]) {
		return false
	}
	at = blank(line, at+1)
	return at < len(line) && line[at] == '['
}

// isValue tells whether an address follows a colon between blanks: "0xffffff80 : 0xffffff8012345678 ".
func isValue(line []byte, at int) bool {
	at = blank(line, at+2)
	return span('x', string(line[at:min(len(line), at+maxAddress)])) > 0
}

// maxAddress is longer than an address is printed.
const maxAddress = 24

// isAddress tells whether a colon stands behind an address, as in "at 0x109151: inner", or between a number and one: "1: 0x55f0 - main".
func isAddress(line []byte, at int) bool {
	if next := blank(line, at+2); phrases.IsDigit(line[at]) && next > at+2 && next < len(line) && phrases.IsHex(line[next]) && span('x', string(line[next:min(len(line), next+maxAddress)])) > 0 {
		return true
	}
	end := at + 1
	for at > 0 && phrases.IsHex(line[at]) && end-at < maxAddress {
		at--
	}
	if at > 0 && line[at]|0x20 == 'x' {
		at -= len("0x")
	}
	return at > 1 && isBlank(line[at]) && (bytes.HasSuffix(bytes.TrimRight(line[:at], " \t"), []byte("at")) || bytes.HasSuffix(bytes.TrimRight(line[:at], " \t"), []byte("by")))
}

// isOffset tells whether an offset behind a plus sign is followed by blanks and a binary, as in "ffffffff81000000 toy_probe+0x12 ([kernel])", or
// by "in".
func isOffset(line []byte, at int) bool {
	end := at + 1
	for end < len(line) && (phrases.IsHex(line[end]) || line[end] == 'x') {
		end++
	}
	next := blank(line, end)
	return next > end && next < len(line) && (line[next] == '(' || line[next] == '[' || line[next] == 'i')
}

// isApart tells whether a plus sign between blanks has a number behind it: "main + 12".
func isApart(line []byte, at int) bool {
	if at == 0 || !isBlank(line[at-1]) {
		return false
	}
	next := blank(line, at+1)
	return next < len(line) && phrases.IsDigit(line[next])
}
