package listing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/internal/signals"
	"github.com/backsight/backsight/target"
)

// fault is what a record says of why the program stopped.
type fault struct {
	signal string // SIGSEGV
	number int
	code   int
	addr   uint64
	known  bool   // addr
	says   string // the program, or who watched it, in words
}

// addresses are what stands before the address of a fault.
var addresses = [...]string{"fault addr ", "fault addr: ", "unknown address ", " on address ", " for address: ", " addr=", "(@", ")@", ", address ", ", address=", " access to ", "si_addr: "}

// read reads a line that says a signal, its code and address:
//
//	signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x2
//	*** SIGSEGV (@0x1f90) received by PID 43184 (TID 0x7efa77b9f700) from PID 8080; stack trace: ***
//	ERROR: AddressSanitizer: SEGV on unknown address 0x000000000040 (pc 0x5581b0c0f1a4 bp …)
//	Reason:Signal:SIGSEGV(SEGV_MAPERR)@0x00000004  probably caused by NULL pointer dereference
func (f *fault) read(text string) {
	if f.signal == "" {
		f.name(text)
	}
	for _, before := range [...]string{", code ", ", code: ", "code=", "si_code: "} {
		if _, rest, ok := strings.Cut(text, before); ok && f.code == 0 {
			sign, digits := 1, rest
			if d, ok := strings.CutPrefix(rest, "-"); ok {
				sign, digits = -1, d
			}
			f.code = sign * max(0, phrases.Leading(strings.TrimPrefix(digits, "0x"), -1))
		}
	}
	for _, before := range addresses {
		if _, rest, ok := strings.Cut(text, before); ok && !f.known {
			n := span('x', rest)
			f.addr, f.known = phrases.Hex(rest[:n])
		}
	}
	if _, cause, ok := strings.Cut(text, " probably caused by "); ok {
		f.say("probably caused by " + cause)
	}
}

// name finds the name of a signal in text, or its number on most processors.
func (f *fault) name(text string) {
	if strings.HasPrefix(text, "*** Segmentation fault") {
		f.signal, f.number = "SIGSEGV", segv
	}
	numbered := strings.Contains(text, "ignal")
	if !numbered && !strings.Contains(text, "SIG") && !strings.Contains(text, "Sanitizer: ") { // a log may have the rest in each line
		return
	}
	for _, n := range [...]int{segv, 6, 7, 4, 8, 5, 31, 3, 9, 15} {
		name, number := signals.Name(n, false), strconv.Itoa(n)
		if strings.Contains(text, name) || strings.Contains(text, "Sanitizer: "+strings.TrimPrefix(name, "SIG")+" ") ||
			numbered && (strings.Contains(text+" (", "ignal: "+number+" (") || strings.Contains(text, "ignal "+number+",") || strings.Contains(text, "ignal "+number+":")) {
			f.signal, f.number = name, n
			return
		}
	}
}

// segv is the number of SIGSEGV.
const segv = 11

// maxSaid bounds in bytes what is kept of a program's words.
const maxSaid = 512

// say keeps what is said of the fault in words.
func (f *fault) say(text string) {
	text = text[:min(len(text), maxSaid)]
	if f.says != "" {
		text = f.says + "; " + text
	}
	f.says = strings.ToValidUTF8(text[:min(len(text), 4*maxSaid)], "")
}

// target is the fault as a snapshot has it, nil where the record tells of none.
func (r *record) target() *target.Fault {
	f := &r.fault
	if f.signal == "" && r.reason == "" {
		return nil
	}
	t := &target.Fault{Signal: f.number, Name: f.signal, Code: f.code, Address: f.addr, HasAddress: f.known, Status: f.says}
	if t.Name == "" {
		t.Name = strings.ToValidUTF8(r.reason[:min(len(r.reason), maxTitle)], "")
	} else if r.reason != "" && t.Status == "" && r.maker != "GDB" && r.maker != "glog" {
		t.Status = strings.ToValidUTF8(r.reason[:min(len(r.reason), maxSaid)], "")
	}
	return t
}

// registers reads registers; those that were printed first count.
func (s *scanner) registers(text string) bool {
	if s.th == nil || len(s.th.regs) > maxRegisters || phrases.Begins(strings.TrimSpace(text), "Build", "OS", "Kernel", "time:", "uid", "Timestamp") {
		return false
	}
	found := s.vocabulary.Line(nil, text)
	if len(found) == 0 || len(s.th.frames) > 0 && len(s.th.regs) == 0 && !slices.Contains([]string{"GDB", "OpenHarmony", javaVM, "sanitizers", "BSD"}, s.rec.maker) {
		return false
	}
	if s.rec.maker == "BSD" && !strings.HasPrefix(text, found[0].Name) { // of what was interrupted: "--- trap 0x9, rip = 0xffffffff81163cf5, …"
		return false
	}
	for _, v := range found {
		if !s.th.has(v.Name) && v.Digits > 2 {
			s.th.regs = append(s.th.regs, v)
		}
	}
	return true
}

// maxRegisters bounds the registers of a thread.
const maxRegisters = 128

func (t *thread) has(name string) bool {
	for i := range t.regs {
		if t.regs[i].Name == name {
			return true
		}
	}
	return false
}

// rowOf reads a row of memory: an address and words of one length, and behind them what is no number of that length.
//
//	000000550210d010 000000550210d020 00000055000008f8  ................
//	#00  0000007fc8e53b10  0000000000000001
//	Sp0:#00 ff9c7cd0 0079bd61
//	0x00007f29729fe480:   00007f28eb416c80 0000000000000000
func rowOf(text string) (r regtext.Row, ok bool) {
	words := strings.Fields(text)
	for n := 0; n < 2 && len(words) > 0 && strings.Contains(words[0], "#"); n++ { // of which frame the word is
		words = words[1:]
	}
	if len(words) < 2 {
		return r, false
	}
	words[0] = strings.TrimSuffix(strings.TrimPrefix(words[0], "0x"), ":")
	for i, word := range words[:min(len(words), maxWords+1)] {
		if len(word) != 8 && len(word) != 16 || r.Size != 0 && len(word) != 2*r.Size || run(word, phrases.IsHex) != len(word) {
			break
		}
		if v, _ := phrases.Hex(word); i == 0 {
			r.Addr = v
		} else {
			r.Size, r.Words = len(word)/2, append(r.Words, v)
		}
	}
	return r, len(r.Words) > 0
}

// maxWords bounds the words of a row.
const maxWords = 16

// goPlace reads the two lines of a frame of Go:
//
//	main.serve(0xc000012345)
//		/src/netd.go:39 +0x1d
//
// The race detector has blanks before either.
func (s *scanner) goPlace(text string) bool {
	if s.rec.maker != "Go" || s.th == nil {
		return false
	}
	text = strings.TrimSpace(text)
	f, ok := goLine.match(text)
	if !ok {
		name, _, by := strings.Cut(strings.TrimPrefix(text, "created by "), " in goroutine ")
		if i := strings.LastIndexByte(name, '('); i > 0 && strings.HasSuffix(name, ")") {
			name = name[:i]
		} else if !by && !strings.HasPrefix(text, "created by ") {
			return false
		}
		s.function = name
		return true
	}
	if s.function == "" {
		return false
	}
	if frame := (&form{maker: "Go"}).frame(&f); s.room.frames.Draw(1) {
		frame.Function = s.function
		s.th.frames = append(s.th.frames, frame)
	}
	s.function = ""
	return true
}

// goLine is the second line of a frame of Go. With GOTRACEBACK=system it tells the PC.
var goLine = compile("%s:%l« +%p»« fp=%t sp=%t pc=%x»")

// sourceLine is the line behind a frame of Rust, of folly's glog, or of eu-stack, that says where in the source it is.
var sourceLine = compile("«at »%s:%l")

// source reads where in its source the frame before the line is, where that follows.
func (s *scanner) source(text string) bool {
	if s.th == nil || len(s.th.frames) == 0 {
		return false
	}
	last := &s.th.frames[len(s.th.frames)-1]
	f, ok := sourceLine.match(text)
	if !ok || last.File != "" || last.Maker != "Rust" && last.Maker != "glog" && last.Maker != "elfutils" {
		return false
	}
	line, _, _ := strings.Cut(f.text('l'), ":")
	last.File, last.Line = f.text('s'), max(0, phrases.Leading(line, -1))
	return true
}

// context reads what minidump_stackwalk prints below a frame, and what Atmosphère prints of a thread: the registers of the first frame
// are the thread's, of the others the PC alone is taken.
//
//	0  netd!pack [netd.c : 41 + 0x2]
//	   rax = 0x0000000000000000   rdx = 0x0000000000000010
//	   rip = 0x00005555555540fc
//	   Found by: given as instruction pointer in context
func (s *scanner) context(text string) bool {
	found := s.vocabulary.Line(nil, strings.NewReplacer("[", "", "]", "").Replace(text))
	if s.th == nil || s.th.title == "" || len(found) == 0 {
		return false
	}
	n := len(s.th.frames)
	for _, v := range found {
		if n <= 1 && !s.th.has(v.Name) && len(s.th.regs) <= maxRegisters {
			s.th.regs = append(s.th.regs, v)
		}
		if n == 0 || v.Name != "rip" && v.Name != "eip" && v.Name != "pc" {
			continue
		}
		if f := &s.th.frames[n-1]; f.Addr == 0 {
			if f.Addr = v.Value; v.Digits >= wideNumber {
				f.how |= wide
			}
			if away := (f.Addr - f.Offset) % pageSize; f.HasOffset && away <= longestCall { // the offset lies within the call
				f.Offset += away
			}
		}
	}
	return true
}
