package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// register is a register as a report prints it. Its place is set where the report gives
// a symbol with the value, or instead of one: "pc : leaf_deref+0x18/0x24".
type register struct {
	name   string // in lower case: "x29", "$4", "rip"
	value  uint64
	known  bool // value is
	digits int  // of the value
	at     place
	said   bool // "PC is at", not "pc : "
}

// parseRegisters reads the registers of a line; nil where there are none.
//
//	x29: ffff80000825b860 x28: ffff0703031ed140 x27: 0000000000000000     arm64
//	pc : [<bf000014>]    lr : [<bf000044>]    psr: 40000013               ARM
//	$ 4   : 00000004 00000000 00000000 817e7ca0                          MIPS
//	epc   : c00a5020 leaf_deref+0x20/0x2c [crashy]                        MIPS
//	RSP: 0018:ffffcc80005cb930 EFLAGS: 00000202                          x86-64
//	EIP: 0060:[<c0123456>] EFLAGS: 00010246 CPU: 0                       i386
//	epc : ffffffff80004e6a ra : ffffffff80004e6a sp : ff20000000303b50   RISC-V
func parseRegisters(text string) (regs []register) {
	for _, say := range [...]string{"PC is at ", "LR is at ", "EIP is at "} {
		if s, ok := strings.CutPrefix(text, say); ok {
			name, _, _ := strings.Cut(strings.ToLower(say), " ")
			at, _, ok := parsePlace(s)
			if !ok {
				return nil
			}
			return []register{{name: name, at: at, value: at.addr, known: at.hasAddr, said: true}}
		}
	}
	if strings.HasPrefix(text, "IP: ") || strings.HasPrefix(text, "printing eip:") { // x86 says where, and the registers follow; ARM's ip stands within a line
		return nil
	}
	for len(text) > 0 && len(regs) < maxInLine {
		name, rest, ok := strings.Cut(text, ":")
		if !ok {
			break
		}
		if i := strings.LastIndexByte(strings.TrimRight(name, " "), ' '); i >= 0 && !strings.HasPrefix(name, "$") {
			name = name[i+1:]
		}
		name = strings.ToLower(strings.ReplaceAll(name, " ", ""))
		rest = strings.TrimLeft(rest, " ")
		if strings.HasPrefix(name, "$") {
			return numbered(name, rest)
		}
		r := register{name: cpuName(name)}
		if name == "rip" && isPlain(rest) {
			return nil
		}
		text, ok = r.parse(rest)
		name = r.name
		if ok && isRegister(name) {
			regs = append(regs, r)
		}
	}
	return regs
}

// isPlain tells whether a value has neither a segment nor brackets nor a symbol, which Linux prints with x86-64's PC. Example: a crash of
// a game on Windows, "RIP:    0x00007ff9f4d221fd  RBP: 0x0000005ebed1d280".
func isPlain(value string) bool {
	word, rest := cutWord(value)
	digits := digitsOf(strings.TrimPrefix(word, "0x"))
	return (digits == 8 || digits == 16) && !strings.HasPrefix(strings.TrimLeft(rest, " "), "[<") && !strings.Contains(rest, "+0x")
}

// cpuName is a register's name without the mode that RISC-V's kernels put in front before Linux 5.7: sepc, sbadaddr.
func cpuName(name string) string {
	switch name {
	case "sepc", "sbadaddr", "sstatus", "scause":
		return name[1:]
	}
	return name
}

// maxInLine bounds the registers of a line. Kernels print five at most.
const maxInLine = 8

// parse reads a register's value, or its place, and returns what follows.
func (r *register) parse(s string) (rest string, ok bool) {
	_, s, _ = cutSelector(s)
	if after, null := strings.CutPrefix(strings.TrimLeft(s, " "), "(null)"); null { // %pS of 0 before Linux 4.20: "RIP: 0010:          (null)"
		r.known = true
		return after, true
	}
	if addr, after, is := cutBracketed(s); is {
		n := strings.IndexByte(s, '>') - len("[<")
		r.value, r.known, r.digits = addr, true, n
		s = after
		if again, after, is := cutBracketed(s); is && again == addr { // [<addr>]  [<addr>] symbol
			s = after
		}
	} else if word, after := cutWord(s); digitsOf(word) == 8 || digitsOf(word) == 16 {
		r.value, _ = phrases.Hex(word)
		r.known, r.digits, s = true, len(word), after
	}
	if at, after, is := parsePlace(s); is && (at.symbol != "" || !r.known) {
		r.at, s = at, after
		if at.hasAddr && !r.known {
			r.value, r.known = at.addr, true
		}
	}
	return s, r.known || r.at.symbol != ""
}

// isNamed tells whether a register is the PC by its symbol alone, as arm64's reports have it since Linux 4.17: "pc : leaf+0x18/0x24".
func (r *register) isNamed() bool {
	return r != nil && !r.said && !r.known && r.at.symbol != ""
}

// isNowhere tells whether an entry of a chain is the PC of a call through a bad pointer, which no
// symbol names: arm64's list begins with "0x12345678" where "pc : 0x12345678" says the same. Kernels
// without the names of their functions print all places so, and the line may be lost that has the place of RISC-V's PC.
func (r *register) isNowhere(l *target.Listed) bool {
	return l.PC != 0 && r.at.symbol == "" && r.known && r.value == l.PC
}

// repeatedPC reads where x86 repeats the PC of a crash, behind the chain (arch/x86/kernel/dumpstack.c, before Linux
// 4.15). Of a report on a screen nothing before is left to see.
//
//	RIP  [<ffffffff81014ec3>] toy_online+0x63/0x80
//	EIP: [<c12a4c6d>] toy_copy+0x1d/0x40 SS:ESP 0068:d8d4dc3c
//	RIP: toy_online+0x63/0x80 RSP: ffff9c60bf703c90
func repeatedPC(text string) (at place, ok bool) {
	rest, plain := strings.CutPrefix(text, "RIP  [<")
	switch {
	case plain:
		rest = "[<" + rest
	case strings.HasPrefix(text, "EIP: ") && strings.Contains(text, " SS:ESP "), strings.HasPrefix(text, "RIP: ") && strings.Contains(text, " RSP: "):
		rest = text[len("RIP: "):]
	default:
		return at, false
	}
	at, _, ok = parsePlace(rest)
	return at, ok && at.symbol != ""
}

// cutSelector takes x86's segment off an address: 0018:ffffcc80005cb930. rest is s where there is none.
func cutSelector(s string) (selector uint64, rest string, ok bool) {
	const size = 4
	if len(s) <= size || s[size] != ':' || digitsOf(s[:size]) != size {
		return 0, s, false
	}
	selector, _ = phrases.Hex(s[:size])
	return selector, s[size+1:], true
}

// isSegmented tells whether a message begins with an address behind its segment, as reports of x86 do: "RIP: 0033:0x47b7a0",
// "RSP: 002b:00007fff271507e8 EFLAGS: 00000202", "EIP: 0060:[<c0123456>] EFLAGS: 00010246 CPU: 0".
func isSegmented(text string) bool {
	name, rest, ok := strings.Cut(text, ": ")
	_, _, segmented := cutSelector(rest)
	return ok && segmented && isRegister(strings.ToLower(name))
}

// isUserPC tells whether a message has user space's PC, behind a segment of its privilege: "RIP: 0033:0x47b7a0". x86 shows
// user space's registers behind the chain of a system call.
func isUserPC(text string) bool {
	s, ok := userPlace(text)
	selector, _, segmented := cutSelector(s)
	return ok && segmented && selector&3 == 3
}

// namesPC tells whether a message says where the processor stood, in a function: "pc : leaf+0x18/0x24", "PC is at leaf+0x18/0x24".
func namesPC(text string) bool {
	if len(text) < 2 || text[0]|0x20 != 'p' || text[1]|0x20 != 'c' {
		return false
	}
	regs := parseRegisters(text)
	return len(regs) > 0 && regs[0].name == "pc" && regs[0].at.size != 0
}

// isUserStack tells whether i386's registers are user space's, of whose stack segment the privilege level says so:
//
//	DS: 007b ES: 007b FS: 0000 GS: 0000 SS: 007b EFLAGS: 00000202
func isUserStack(text string) bool {
	_, ss, ok := strings.Cut(text, " SS: ")
	ss, _ = cutWord(ss)
	v, hex := phrases.Hex(ss)
	return ok && hex && len(ss) == 4 && v&3 == 3
}

// isOfFirmware tells whether a message begins with a register in a way in which no kernel prints one: in capitals, where the
// name is not one of x86, or with 0x in front of the value.
//
//	EPC: 00000000f7f3b8ae RA: 00000000f7f3b506       U-Boot
//	R0: 00000002 R1: 3c4927c4 R2: 3c480684           NuttX
//	r0: 0xc80d7f4c  r1: 0xc4abe210                   a program's
func isOfFirmware(text string) bool {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimRight(name, " ")
	switch name {
	case "EPC", "RA", "SP", "GP", "TP", "PC", "LR":
		return true
	}
	if !ok || len(name) < 2 || len(name) > 3 || phrases.Leading(name[1:], -1) < 0 {
		return false
	}
	capital := strings.IndexByte("TSA", name[0]) >= 0 || name[0] == 'R' && len(name) == 2
	return capital || strings.HasPrefix(strings.TrimLeft(value, " "), "0x")
}

// numbered reads MIPS registers: from the number on, as many as the line has. Linux 2.4 prints eight in a line, without
// those that the kernel itself uses:
//
//	$24: 00000008 00000001                   80268000 80269eb8 00000000 80026030
func numbered(name, values string) (regs []register) {
	first, err := strconv.Atoi(name[1:])
	words := strings.Fields(values)
	if err != nil || first < 0 {
		return nil
	}
	if n := len(words); n != 8 && (first != 24 || n != 6) {
		words = words[:min(n, 4)]
	}
	for i, word := range words {
		n := first + i
		if len(words) == 6 && n >= 26 {
			n += 2
		}
		if d := digitsOf(word); n < 32 && (d == 8 || d == 16) {
			v, _ := phrases.Hex(word)
			regs = append(regs, register{name: "$" + strconv.Itoa(n), value: v, known: true, digits: d})
		}
	}
	return regs
}

// isRegister tells whether name is a register that kernels print.
func isRegister(name string) bool {
	switch name {
	case "pc", "lr", "sp", "fp", "ip", "psr", "pstate", "epc", "ra", "gp", "tp", "hi", "lo", "badva", "badaddr", "cause", "status",
		"rip", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "eip", "eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp":
		return true
	}
	if len(name) < 2 || len(name) > 3 || strings.IndexByte("xrsta", name[0]) < 0 {
		return false
	}
	return strings.Trim(name[1:], "0123456789") == "" // x29, r10, s0, t6, a7
}
