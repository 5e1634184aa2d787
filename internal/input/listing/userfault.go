package listing

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/internal/signals"
)

// Linux tells in lines of its log which program it stopped, and where that stood:
//
//	netd[4321]: segfault at 10 ip 00005581b0c0f1a4 sp 00007ffe3a2b1c40 error 4 in netd[5581b0c0e000+3000]     x86
//	traps: netd[4321] general protection fault ip:5581b0c0f1a4 sp:7ffe3a2b1c40 error:0 in netd[1000,5581b0c0e000+3000]
//	do_page_fault(): sending SIGSEGV to hostapd for invalid read access from 00000004                          MIPS
//	epc = 0042f1b8 in hostapd[400000+6a000]
//	ra  = 0042f0a4 in hostapd[400000+6a000]
//	netd[812]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in netd[400000+97000]   arm64, and registers
//	init[1]: unhandled signal 11 code 0x1 at 0x9b7e1c64 in ld-linux.so[95791000+27000]                         RISC-V, likewise
//	sh/14711: potentially unexpected fatal signal 11.                                                          print-fatal-signals
//
// What the kernel prints of its own path behind the registers is how it came to print them, and no caller of the program's.
// Formats: arch/*/mm/fault.c, arch/*/kernel/traps.c, kernel/signal.c, mm/memory.c (print_vma_addr).

// userFault reads a line that begins such a report.
func (s *scanner) userFault(i int, text string) bool {
	ip, isX86 := hexBehind(text, " ip ", " ip:")
	sp, hasSP := hexBehind(text, " sp ", " sp:")
	code, hasCode := hexBehind(text, " error ", " error:")
	who, what, named := strings.Cut(text, "]: ")
	switch {
	case isX86 && hasSP && hasCode && strings.Contains(text, "["):
		s.openFault(i, text, strings.TrimPrefix(text, "traps: "))
		s.rec.abi = "x86_64"
		if ip>>32 == 0 && sp>>32 == 0 {
			s.rec.abi = "" // of either width
		}
		s.x86(text, ip, sp, code)
		s.rec = nil // all stands in the line
	case strings.HasPrefix(text, "do_page_fault(): sending SIGSEGV to "):
		s.openFault(i, text, strings.TrimPrefix(text, "do_page_fault(): sending SIGSEGV to "))
		s.rec.abi = "mips"
		s.rec.fault = fault{signal: "SIGSEGV", number: segv, says: text}
		s.rec.fault.addr, s.rec.fault.known = hexBehind(text, " access from ", " access to ")
	case named && strings.Contains(who, "[") && phrases.Begins(what, "unhandled ") && !strings.Contains(text, "kernel"):
		s.openFault(i, text, text)
		s.mappedIn(text)
		s.rec.fault = fault{signal: "SIGSEGV", number: segv, says: what}
		s.rec.fault.addr, s.rec.fault.known = hexBehind(what, " at 0x")
	case strings.Contains(text, "potentially unexpected fatal signal "):
		s.openFault(i, text, strings.Replace(text, "/", "[", 1))
		s.rec.fault.read(strings.Replace(text, "fatal signal ", "signal: ", 1) + " (")
		if s.rec.fault.signal == "" {
			s.rec.fault = fault{signal: "SIGSEGV", number: segv}
			s.rec.fault.name("signal " + strings.TrimSuffix(text[strings.LastIndexByte(text, ' ')+1:], ".") + ",")
		}
	default:
		return false
	}
	return true
}

// openFault begins the record of a program; who begins with the program's name and its number in brackets.
func (s *scanner) openFault(i int, text, who string) {
	s.open(i, "Linux")
	s.rec.reason = text
	name, rest, _ := strings.Cut(who, "[")
	s.rec.command, _, _ = strings.Cut(name, " for invalid ")
	s.rec.pid = phrases.Leading(rest, -1)
	s.th.title = "user fault: " + s.rec.command
}

// hexBehind is the hexadecimal number behind one of several words.
func hexBehind(text string, words ...string) (uint64, bool) {
	for _, w := range words {
		if _, rest, ok := strings.Cut(text, w); ok {
			rest = strings.TrimPrefix(rest, "0x")
			return phrases.Hex(rest[:run(rest, phrases.IsHex)])
		}
	}
	return 0, false
}

// x86 takes the registers out of the line, and what the error code says of the access.
func (s *scanner) x86(text string, ip, sp, code uint64) {
	s.program(0, ip, text, "rip", "eip")
	s.th.regs = append(s.th.regs, regtext.Value{Name: "rsp", Value: sp, Digits: 16}, regtext.Value{Name: "esp", Value: sp, Digits: 16})
	f := &s.rec.fault
	*f = fault{number: 5, says: text}
	for _, trap := range [...]struct {
		name, says string
		number     int
	}{{"general protection", "general protection fault", segv}, {"invalid opcode", "invalid opcode", 4}, {"divide error", "divide error", 8}} {
		if strings.Contains(text, trap.name) {
			*f = fault{number: trap.number, says: trap.says}
		}
	}
	if strings.Contains(text, "segfault") {
		f.number, f.says = segv, pageFault(code)
		f.addr, f.known = hexBehind(text, " at ")
	}
	f.signal = signals.Name(f.number, false)
}

// pageFault is an error code of a page fault in words (Intel SDM, volume 3, 4.7).
func pageFault(code uint64) string {
	access := "read from"
	if code&2 != 0 {
		access = "write to"
	}
	if code&16 != 0 {
		access = "execution of"
	}
	if code&1 != 0 {
		return fmt.Sprintf("%s a page that does not allow that (error %x)", access, code)
	}
	return fmt.Sprintf("%s a page that is not there (error %x)", access, code)
}

// program makes a frame of an address, in the binary that the line names, and registers of these names.
func (s *scanner) program(how meaning, addr uint64, text string, registers ...string) {
	f := Frame{Maker: "Linux", Number: len(s.th.frames), Addr: addr, Module: s.mappedIn(text), how: how}
	s.th.frames = append(s.th.frames, f)
	for _, name := range registers {
		s.th.regs = append(s.th.regs, regtext.Value{Name: name, Value: addr})
	}
}

// mappedIn takes the mapping out of a line, and returns the binary's name: in netd[5581b0c0e000+3000], with the offset in the
// file in front since Linux 6.9: in netd[1000,5581b0c0e000+3000].
func (s *scanner) mappedIn(text string) string {
	i := strings.LastIndex(text, " in ")
	if i < 0 {
		return ""
	}
	name, where, ok := strings.Cut(text[i+len(" in "):], "[")
	where, _, closed := strings.Cut(where, "]")
	if !ok || !closed {
		return ""
	}
	m := mapping{name: name, exec: true, code: true}
	if off, rest, ok := strings.Cut(where, ","); ok {
		m.off, _ = phrases.Hex(off)
		m.code, where = false, rest
	}
	base, size, _ := strings.Cut(where, "+")
	lo, ok := phrases.Hex(base)
	n, sized := phrases.Hex(size)
	if m.lo, m.hi = lo, lo+n; ok && sized && m.lo < m.hi && s.room.maps.Draw(1) {
		s.rec.maps = append(s.rec.maps, m)
	}
	return name
}

// maxSilent is how many lines without registers stand between those of a program.
const maxSilent = 8

// fromKernel reads a line of a report of Linux; it ends with the registers.
func (s *scanner) fromKernel(i int, text string) bool {
	if i > s.rec.last+maxSilent || phrases.Begins(text, "Kernel panic", "Call Trace", "Call trace", "Oops", "BUG:", "------------[", "---[ end", "Unable to handle", "Internal error") {
		s.rec = nil
		return false
	}
	if rest, ok := strings.CutPrefix(text, "epc = "); ok {
		pc, _ := hexBehind(rest, "")
		s.program(0, pc, text, "pc")
		return true
	}
	if rest, ok := strings.CutPrefix(text, "ra  = "); ok {
		ra, _ := hexBehind(rest, "")
		s.program(doubtful, ra, text, "ra")
		s.rec.last, s.th.to, s.rec = i, i, nil
		return false
	}
	found := s.vocabulary.Line(nil, strings.NewReplacer("[<", " ", ">]", " ", "epc :", "pc :", "psr:", "cpsr:").Replace(text))
	for _, v := range found {
		if !s.th.has(v.Name) && v.Digits >= 8 && len(s.th.regs) < maxRegisters {
			s.th.regs = append(s.th.regs, v)
		}
	}
	return len(found) > 0
}
