package kernellog

import (
	"bytes"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// signs are what a message has that begins a report, says something of the kernel, or that messages were lost.
func signs(env *input.Env) console.Signs {
	all := append(kindPhrases.Signs(), phrases.Texts(
		"-page vmalloc region starting at ", "Not tainted ", "Tainted: ", "Linux version ", "Kernel Offset: ", " Live 0x", "/sys/module/", // facts.take
		"printk messages dropped **", " message(s)!", " kernel messages", "message repeated ", // isLoss
		" Location ", ": <stack trace>", "]: nVHE call trace:", // tracerOf
		"Pid: ", "CPU: ", "[ cut here", "<--- cut here", "task:", "INFO: task ", ": stopping", "[#", ".c::", // headingOf
		" age=", "page last ", "ocated by task ", "reed by task ", "reeing by task ", "-> #", // keptHeading; the others end with a colon
		"Call Trace", "Call trace:", "Backtrace:", // isTraceHeader
		"nable to handle ", " NULL pointer ", "omm: ", // messages that lines go on with
		"[<", "+0x", "(null)", // places
	)...)
	all = append(all, phrases.Sign{Text: "0x", Also: isFlags}, phrases.Sign{Text: " from ", Also: hasParenthesis}, phrases.Sign{Text: "$ "}, phrases.Sign{Text: "BUG ", Word: true})
	for c := byte('0'); c <= '9'; c++ {
		all = append(all, phrases.Sign{Text: "+" + string(c), Also: isBraced}, phrases.Sign{Text: "$" + string(c)})
	}
	return console.Signs{Phrases: all, Ends: goesOn, Joins: true, Registers: func(string) bool { return false }}
}

// isFlags tells whether a number in hexadecimal, which begins at at, stands behind another number: hasFlags.
func isFlags(line []byte, at int) bool {
	end := at
	for at > 0 && (line[at-1] == ' ' || line[at-1] == '\t') {
		at--
	}
	return at > 0 && at < end && line[at-1]-'0' <= 9
}

// hasParenthesis tells whether a place in a source may follow, of a function without an offset: "mid_c from mid_b (toy.c:12)".
func hasParenthesis(line []byte, at int) bool { return bytes.IndexByte(line[at:], '(') >= 0 }

// isBraced tells whether the offset behind a plus sign ends a place in braces: {toy_probe+68}.
func isBraced(line []byte, at int) bool {
	for at++; at < len(line) && line[at]-'0' <= 9; at++ {
	}
	return at < len(line) && line[at] == '}'
}

// goesOn tells whether the next line may go on with the message that a line ends, as fitsBehind and softBreak say. Of the lines of
// fitsBehind the signs tell the others.
func goesOn(line []byte) bool {
	if n := len("<c0123456"); len(line) >= n && line[len(line)-n] == '<' {
		return true
	}
	switch line[len(line)-1] {
	case ':', '?', '=', '>', 0xa0: // <br> hides the end
		return true
	case ']':
		return bytes.HasSuffix(line, []byte(">]")) || bytes.IndexByte(line, '\\') >= 0
	case 'm':
		return bytes.HasSuffix(line, []byte(" from"))
	case '0', 'D', '9': // blanks, = and tabs as mail is sent
		return bytes.HasSuffix(line, []byte("=20")) || bytes.HasSuffix(line, []byte("=3D")) || bytes.HasSuffix(line, []byte("=09"))
	case ')':
		return bytes.Contains(line, []byte("  (")) // a process, behind the message in a log of Android
	}
	begin := 0
	for begin < len(line) && bytes.IndexByte([]byte(" \t>|`"), line[begin]) >= 0 {
		begin++
	}
	dump := line[begin:]
	return len(dump) > 4 && dump[4] == ':' && digitsOf(string(dump[:4])) == 4
}
