package listing

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/internal/phrases"
)

// Frame is what a line says of a frame. What it does not say is "", 0, or −1.
type Frame struct {
	// Maker is who writes such lines.
	Maker  string
	Number int // of the frame, −1: none
	// Addr is a target address, 0 for none.
	Addr uint64
	// Module is the binary's name; Offset, if HasOffset, an image address in it, as most makers mean that; FileOffset
	// where the binary begins in the file of the name.
	Module             string
	Offset, FileOffset uint64
	HasOffset          bool
	BuildID            []byte
	// FuncOffset, if HasFuncOffset, is how far in Function the place lies.
	Function      string
	FuncOffset    uint64
	HasFuncOffset bool
	File          string
	Line          int
	how           meaning
	stack         uint64 // where on the stack the frame is, as Windows' debuggers say
}

// Within tells whether the address lies within a call, and is not the one to which the call returns.
func (f *Frame) Within() bool { return f.how&within != 0 && (f.Number != 0 || f.how&each != 0) }

// maxFrameLine bounds in bytes the lines that are looked at: names of C++ have some hundred.
const maxFrameLine = 4096

// Parse reads a line that is a frame of a call chain, whoever wrote the line.
func Parse(line string) (f Frame, ok bool) {
	line = withoutProcess(strings.TrimSpace(line))
	if len(line) < len("#0 a") || len(line) > maxFrameLine {
		return f, false
	}
	number, text := cutNumber(line)
	if f, ok = parseAt(text); ok && f.Number < 0 {
		f.Number = number
	}
	if ok && f.how&weak == 0 && f.Maker != "glibc" {
		return f, true
	}
	for i := 1; i+1 < len(line); i++ { // behind what a log puts before a line
		if line[i] == '#' && phrases.IsDigit(line[i+1]) && (line[i-1] == ' ' || line[i-1] == '\t') {
			if behind, ok := parseAt(line[i:]); ok {
				return behind, true
			}
			break
		}
	}
	return f, ok
}

// cutNumber is a line without the number that stands in front of what backtrace_symbols makes, −1 for none:
//
//	[node01:21451] [ 0] /lib/libc.so.6(+0x42520)[0x7f3a2ce42520]      Open MPI; Godot without the host
//	(EE) 0: /usr/lib/xorg/Xorg (OsLookupColor+0x139) [0x55d3c01ba0f9]
//	1: (()+0x12730) [0x7f3a2ce42730]                                   Ceph
func cutNumber(line string) (number int, text string) {
	if !strings.Contains(line, "[0x") {
		return -1, line
	}
	rest := strings.TrimPrefix(line, "(EE) ")
	if host, behind, ok := strings.Cut(rest, "] ["); ok && strings.HasPrefix(host, "[") && strings.Contains(host, ":") {
		rest = "[" + behind
	}
	word, behind, ok := strings.Cut(strings.TrimPrefix(rest, "["), " ")
	if word == "" { // [ 0]
		word, behind, ok = strings.Cut(strings.TrimLeft(behind, " "), " ")
	}
	n := run(word, phrases.IsDigit)
	if mark := word[n:]; !ok || n == 0 || mark != "]" && mark != ":" {
		return -1, line
	}
	return phrases.Leading(word, -1), strings.TrimLeft(behind, " ")
}

// withoutProcess is a line behind the process that valgrind and sanitizers print: "==1234==    at 0x109151: inner".
func withoutProcess(line string) string {
	if rest, ok := strings.CutPrefix(line, "=="); ok {
		if n := run(rest, phrases.IsDigit); n > 0 && strings.HasPrefix(rest[n:], "==") {
			return strings.TrimLeft(rest[n+2:], " \t")
		}
	}
	return line
}

// parseAt reads a frame that begins with the line.
func parseAt(line string) (f Frame, ok bool) {
	bracketed := strings.Contains(line, "[0x")
	for _, i := range byStart.Get(formsByStart)[line[0]] {
		form := &forms[i]
		if form.starts == "" && !bracketed {
			continue
		}
		found, ok := form.match(line)
		if !ok {
			continue
		}
		f = form.frame(&found)
		if f.plausible() {
			return f, true
		}
	}
	return f, false
}

// byStart has the forms of lines that begin with a byte, in their order. It is made for the first line.
var byStart memo.Once[*[256][]int]

func formsByStart() *[256][]int {
	list := new([256][]int)
	for c := range list {
		for i := range forms {
			if starts := forms[i].starts; starts == "" || strings.IndexByte(starts, byte(c)) >= 0 {
				list[c] = append(list[c], i)
			}
		}
	}
	return list
}

// frame is what the verbs of a form stand for.
func (form *form) frame(v *found) Frame {
	f := Frame{Maker: form.maker, Number: -1, how: form.meaning}
	if n, err := strconv.ParseUint(v.text('n'), 10, 31); err == nil {
		f.Number = int(n)
	}
	f.Addr, _ = phrases.Hex(v.text('x'))
	f.Offset, f.HasOffset = phrases.Hex(v.text('o'))
	f.FileOffset, _ = phrases.Hex(v.text('i'))
	f.FuncOffset, f.HasFuncOffset = functionOffset(v.text('p'))
	f.Function, f.Module, f.File = withoutValues(known(v.text('f'))), known(v.text('m')), known(v.text('s'))
	if f.Module == "" && form.meaning&relative != 0 {
		f.Module = "<unknown>"
	}
	if id := v.text('b'); len(id) >= 2*minBuildID && len(id)%2 == 0 {
		f.BuildID, _ = hex.DecodeString(id)
	}
	if max(len(v.text('x')), len(v.text('o'))) >= wideNumber {
		f.how |= wide
	}
	f.stack, _ = phrases.Hex(strings.Replace(v.text('w'), "`", "", 1))
	line, _, _ := strings.Cut(v.text('l'), ":")
	f.Line, _ = strconv.Atoi(line)
	return f
}

// minBuildID is how many bytes a build ID has at least.
const minBuildID = 4

// known is a name, "" for what makers write where they know none.
func known(name string) string {
	name = strings.TrimSpace(name)
	switch name {
	case "??", "???", "?? ()", "n/a", "(unknown)", "(null)", "()", "Unknown", "UnknownFunction", "UnknownFunction()", "Unknown symbol", "<unknown>", "<unknown module>", "(<unknown module>)", "(<unknown>)", "(function-name not available)", "<null>", "[unknown]", "unknown", "<signal handler called>":
		return ""
	}
	if strings.HasPrefix(name, "<anonymous:") || name == "0x0" { // macOS: "4   ???   0xffffffff 0x0 + 4294967295"
		return ""
	}
	return name
}

// withoutValues is a name without the values of arguments, which LLDB puts behind: "tick(this=0x10, n=3)".
func withoutValues(name string) string {
	for at := 0; ; at++ {
		next := strings.IndexByte(name[at:], '(')
		if next < 0 {
			return name
		}
		at += next
		if n := run(name[at+1:], phrases.IsWord); n > 0 && strings.HasPrefix(name[at+1+n:], "=") {
			return name[:at]
		}
	}
}

// maxNumber bounds the number of a frame where a line that begins with a number could be a sentence.
const maxNumber = 1 << 12

// leastDigits is how many digits an address has at least that nothing marks as a number.
const leastDigits = 6

// plausible tells whether a frame may be one, where a form's line could be a sentence.
func (f *Frame) plausible() bool {
	switch f.Maker {
	case "Android": // which leaves out an offset of 0: "/lib/liba.so (std::get_unexpected())"
		if file, name, ok := strings.Cut(f.Module, " ("); ok && f.Function == "" && strings.HasSuffix(name, ")") {
			f.Module, f.Function, f.HasFuncOffset = file, name[:len(name)-1], true
		}
	case "glibc":
		if i := strings.LastIndex(f.Module, ": "); i >= 0 { // a log's: what printed the line
			f.Module = f.Module[i+len(": "):]
		}
		if f.how&weak != 0 && (strings.HasPrefix(f.Module, "/") || strings.HasPrefix(f.Module, "./")) {
			f.how &^= weak
		}
		if i := strings.LastIndex(f.Module, " /"); i >= 0 {
			f.Module = f.Module[i+1:]
		}
		return f.HasFuncOffset || !strings.Contains(f.Module, " ") // "redis-server *:6379(call+0xb1)[0x55d3c01b5cd1]" has the title of a process
	case cygwin: // whose first word is where on the stack the frame lies
		return f.HasOffset || f.Addr>>12 != 0
	case "Chromium":
		return f.Number < 0 || !f.HasOffset || strings.HasPrefix(f.Module, "/")
	case "BSD":
		return !strings.ContainsAny(f.Function+f.Module, " ,")
	case breakpad:
		return !strings.Contains(f.Module, "`") // Windows' debuggers
	case "FRR": // behind the log's
		f.Function = f.Function[strings.LastIndexByte(f.Function, ' ')+1:]
	case winDbg:
		return f.stacked()
	case "perf":
		return run(f.Module, phrases.IsHex) < len(f.Module) // "00ed6a68 7457 je toy!poke+0x71 (00ed6abe)" is an instruction, as Windows' debuggers print those
	case "Java", "Julia":
		return !strings.Contains(f.Function, " ") // "at 0x10915D: inner (toy.c:5)" is valgrind's
	case "Rust", "Boost":
		return f.Number < maxNumber
	}
	return true
}

// stacked reads what Windows' debuggers put between a frame's place on the stack and its module, and tells whether that is what they
// put: the return address, or the frame's number in front of all, and arguments. In front of an instruction stand its bytes.
//
//	0a 0034e7f8 766319fc ntdll!f+0x15
//	00000016`f1f7b508 00007ffa`3672ecd1     : 00000000`00000000 00000212`a36edc80 : toy!poke+0x2
//	09 (Inline Function) --------`--------     toy!g+0x12
func (f *Frame) stacked() bool {
	words := strings.Fields(f.Module)
	n := len(words)
	if n == 0 {
		return false
	}
	if f.Module = words[n-1]; f.Function != "" || f.HasOffset {
		n--
	} else { // an address in no module
		f.Module = ""
	}
	if words[0] == "(Inline" {
		return true
	}
	if f.stack < maxNumber {
		f.Number = int(f.stack)
		f.stack, _ = phrases.Hex(strings.Replace(words[0], "`", "", 1))
	}
	return f.stack != 0 && (strings.Contains(words[0], "`") || len(words[0]) == 8) &&
		!slices.ContainsFunc(words[:n], func(word string) bool { return strings.Trim(word, "0123456789abcdef`:") != "" })
}

// functionOffset reads an offset in a function: hexadecimal behind 0x, else decimal.
func functionOffset(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 0, 64)
	return v, err == nil
}
