// Package regtext finds the names and values of registers, and rows of memory, in text
// that people and programs print: fault handlers, debuggers, debugging probes.
//
//	R0 : 00000004  R1 : 0000be14          CmBacktrace
//	r3/a4:  0x20000648 r12/ip:  0x00000000    Zephyr
//	PC [R15] = 8000b1d  program counter   handlers after J. Yiu's
//	R   0: 00000000                       Mbed OS
//	R0: 00000000 20003a80 00000001 …      NuttX: R0, R1, R2, …
//	MEPC    : 0x42006e56  RA      : 0x…   ESP-IDF
//	(15) pc (/32): 0x08000184             OpenOCD
//	SP(R13)= 20001FB0, XPSR = 61000000: APSR = nZCvq    J-Link
//	pc             0x8000184    0x8000184 <main+12>     GDB
package regtext

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/phrases"
)

// Value is one register as printed.
type Value struct {
	// Name is in lower case; of a fault status register it is the architecture's.
	Name  string
	Value uint64
	// Digits are the hexadecimal digits printed, leading zeros included: 8 or 16 where
	// registers are printed whole.
	Digits int
	// After is what follows the value, up to the next word's first byte.
	After string
}

// Vocabulary has the names that mean something.
type Vocabulary struct {
	names map[string]string
	// shapes are those of names by the two letters that they begin with, a bit for each.
	shapes [beginnings]uint64
}

// status are registers that say why a fault happened, by the names that reports have for
// them. They belong to no register file of a cpu.Arch.
var status = [...]struct {
	name string
	also []string
}{
	// Cortex-M: DDI 0403 B3.2.15 to B3.2.18; DDI 0553 D1.2.
	{"cfsr", []string{"scb_cfsr", "cfaults"}}, {"hfsr", []string{"scb_hfsr", "hfaults"}}, {"dfsr", []string{"scb_dfsr", "dfaults"}},
	{"afsr", []string{"scb_afsr", "afaults"}}, {"sfsr", nil}, {"sfar", nil},
	{"mmfsr", []string{"mmsr", "mfsr", "scb_cfsr_mfsr"}}, {"bfsr", []string{"scb_cfsr_bfsr"}}, {"ufsr", []string{"scb_cfsr_ufsr"}},
	{"mmfar", []string{"mmar", "mfar", "scb_mmfar", "scb_mmar"}}, {"bfar", []string{"scb_bfar", "bfaultaddr"}},
	{"shcsr", []string{"scb_shcsr"}}, {"icsr", []string{"scb_icsr"}},
	{"exc_return", []string{"excreturn", "exc_ret"}}, {"control", nil},
	// RISC-V privileged specification, 3.1.15 and 3.1.16; mbadaddr is mtval of 1.9.
	{"mcause", []string{"scause", "ucause", "xcause"}}, {"mtval", []string{"stval", "utval", "tval", "xtval", "mbadaddr", "sbadaddr", "badaddr"}},
	{"mstatus", []string{"sstatus", "xstatus"}},
	// ARM's other profiles: DDI 0406, B4.1.51 to B4.1.96; DDI 0487, D17.2. ELn is the level of
	// exceptions; some reports leave it open.
	{"dfar", nil}, {"ifsr", nil}, {"ifar", nil},
	{"esr", []string{"esr_el1", "esr_el2", "esr_el3", "esr_eln"}}, {"far", []string{"far_el1", "far_el2", "far_el3", "far_eln"}},
	{"elr", []string{"elr_el2", "elr_el3", "elr_eln"}},
	// MIPS: MD00090, 9.24 and 9.10.
	{"cause", []string{"c0_cause"}}, {"badvaddr", []string{"c0_badvaddr", "badva"}},
	// Xtensa: ISA Reference Manual, 4.4.1.5.
	{"exccause", nil}, {"excvaddr", nil},
}

// NewVocabulary knows the registers of archs, and the fault status registers.
func NewVocabulary(archs cpu.Set) *Vocabulary {
	v := &Vocabulary{names: make(map[string]string)}
	for _, a := range archs {
		for i := range a.Regs {
			for _, n := range a.Regs[i].Names {
				v.names[n] = n
			}
		}
	}
	for i := range status {
		s := &status[i]
		v.names[s.name] = s.name
		for _, n := range s.also {
			v.names[n] = s.name
		}
	}
	for _, n := range [...]string{"r0", "r1", "r2", "r3", "r12", "lr", "pc", "psr"} {
		v.names["stacked_"+n] = n // handlers after J. Yiu's
	}
	for n := range v.names {
		v.shapes[beginning(n)] |= shape(n)
	}
	return v
}

// beginnings is how many beginnings of names are told apart.
const beginnings = 1 << 10

// beginning is a number for the two letters that a word begins with, whatever their case.
func beginning[T string | []byte](word T) int {
	return (int(word[0]|0x20)<<5 ^ int(word[1]|0x20)) % beginnings
}

// shape is the bit for how long a word is and how it ends.
func shape[T string | []byte](word T) uint64 {
	return 1 << ((len(word)*11 + int(word[len(word)-1]|0x20)) % 64)
}

// IsStatus tells whether a Value's name is that of a fault status register.
func IsStatus(name string) bool {
	for i := range status {
		if status[i].name == name {
			return true
		}
	}
	return false
}

// maxInLine bounds the registers of a line: no processor that is read has as many. The whole line may be without an end.
const maxInLine = 96

// Line appends the registers of a line to dst.
func (v *Vocabulary) Line(dst []Value, line string) []Value {
	line = named(line)
	record := strings.Index(line, " { ")
	most := len(dst) + maxInLine
	for before, at := "", 0; at < len(line) && len(dst) < most; {
		if !phrases.IsWord(line[at]) {
			if line[at] != ' ' {
				before = ""
			}
			at++
			continue
		}
		name, end := v.name(line, at)
		if name == "" || qualified(before) || isFrame(line, at) {
			before = line[at:wordEnd(line, at)]
			at += len(before)
			continue
		}
		val, next, ok := value(line, end, loose(name))
		if !ok {
			before, at = "", end
			continue
		}
		if record >= 0 && record < at && line[next-val.Digits-1]|0x20 != 'x' {
			val.Value = decimal(line[next-val.Digits:next], val.Value)
		}
		val.Name = name
		dst = append(dst, val)
		dst, at = row(dst, line, next)
		before = ""
	}
	return dst
}

// calls are what reports call a register by: Zephyr, nRF5 SDK (hardfault_implementation.c), TinyGo, PX4 (hardfault_log.c), NuttX
// on arm64, CmBacktrace. J-Link's GDB server says: Read register 'r0' (4 bytes) from hardware: 0x00000000.
var calls = []struct{ text, name string }{
	{"Faulting instruction address", " pc"}, {"faulting instruction address", " pc"},
	{"HARD FAULT at ", " pc: "}, {"runtime error at ", " pc: "}, {"exe return:", "exc_return:"}, {"SP_ELX:", " sp:"},
	{"bus fault occurred address is", " bfar:"}, {"management fault occurred address is", " mmfar:"},
	{"发生总线错误的地址：", " bfar: "}, {"发生存储器管理错误的地址：", " mmfar: "},
	{"Code was executing from address", " pc:"}, {"Accessed Address:", " mmfar:"}, // Teensy
	{"Read register '", " "},
}

var callPhrases = phrases.List{Phrases: func() []string {
	return phrases.Of(calls, func(c *struct{ text, name string }) string { return c.text })
}}

// named is a line with the names of registers in the place of such phrases.
func named(line string) string {
	i := callPhrases.First(line)
	if i < 0 {
		return line
	}
	before, behind, _ := strings.Cut(line, calls[i].text)
	if name, value, quoted := strings.Cut(behind, "' ("); quoted && i == len(calls)-1 {
		_, value, _ = strings.Cut(value, ")")
		behind = name + strings.Replace(value, " from hardware", "", 1)
	}
	return before + calls[i].name + behind
}

// decimal is the value of a number in a record as Rust's derived Debug prints it, "Context {
// ra: 1107303842, mepc: 0x42 }": without a prefix it is decimal, unless its digits show that it
// is the other value.
func decimal(number string, other uint64) uint64 {
	if v, err := strconv.ParseUint(number, 10, 64); err == nil && number[0] != '0' {
		return v
	}
	return other
}

// name reads the name at a word's beginning: "r15/pc" has two names for one register, of
// which the first that is known counts; "R   0" is r0, and "r00" too.
func (v *Vocabulary) name(line string, at int) (name string, end int) {
	end = wordEnd(line, at)
	words := line[at:end]
	first := len(words)
	for end+1 < len(line) && line[end] == '/' && phrases.IsWord(line[end+1]) {
		end = wordEnd(line, end+1)
		words = line[at:end]
	}
	for rest, more := words, true; more; {
		part := rest
		if more = len(words) > first; more {
			part, rest, more = strings.Cut(rest, "/")
		}
		if n := registerOf(v, part); n != "" {
			return n, end
		}
	}
	if words == "r" || words == "R" {
		digits := skipSpaces(line, end)
		stop := wordEnd(line, digits)
		if n, ok := v.names["r"+line[digits:stop]]; ok && stop > digits {
			return n, stop
		}
	}
	return "", end
}

// maxName is longer than the name of any register.
const maxName = 24

// numbered tells whether a word may be a register's name with a zero in front of the number: r07.
func numbered[T string | []byte](word T) bool { return len(word) == 3 && word[1] == '0' }

func lowered(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// registerOf is the register that a word names, "" for none.
func registerOf[T string | []byte](v *Vocabulary, word T) string {
	for len(word) > 0 && word[0] == '_' {
		word = word[1:]
	}
	if len(word) < 2 || len(word) > maxName || v.shapes[beginning(word)]&shape(word) == 0 && !numbered(word) {
		return ""
	}
	var lower [maxName]byte
	for i := range len(word) {
		lower[i] = lowered(word[i])
	}
	n, ok := v.names[string(lower[:len(word)])]
	if !ok && numbered(word) {
		n = v.names[string([]byte{lower[0], lower[2]})]
	}
	return n
}

// qualified tells whether the word before a name says that the register is not the one of
// the context that the report is about: "Interrupt sp", "User sp".
func qualified(before string) bool {
	switch strings.ToLower(before) {
	case "current", "user", "interrupt", "irq", "kernel", "initial", "base", "top", "min", "max", "limit", "last", "previous":
		return true
	}
	return false
}

// isFrame tells whether the name at a place of a line stands behind the number of a frame, in a list of calls: "#03 pc 000a96ec".
func isFrame(line string, at int) bool {
	for at > 0 && (line[at-1] == ' ' || line[at-1] == '\t') {
		at--
	}
	end := at
	for at > 0 && phrases.IsDigit(line[at-1]) {
		at--
	}
	return at < end && at > 0 && line[at-1] == '#'
}

// loose tells whether a name is no word of another kind, so that a short number behind it
// is its value: "trap: mcause 5 mepc 800001cc".
func loose(name string) bool { return IsStatus(name) || strings.HasSuffix(name, "epc") }

// value reads what stands behind a name: another name in brackets, a colon or an equals
// sign, and the number.
func value(line string, at int, loose bool) (v Value, next int, ok bool) {
	if at = skipSpaces(line, at); at < len(line) && (line[at] == ')' || line[at] == ']') {
		at = skipSpaces(line, at+1) // of "(r15/pc): 0x…", "reg[01](ra   ) = 0x…"
	}
	for at < len(line) && (line[at] == '(' || line[at] == '[' && !strings.HasPrefix(line[at:], "[<")) {
		n := strings.IndexAny(line[at:min(len(line), at+maxRemark)], ")]")
		if n < 0 {
			return v, at, false
		}
		at = skipSpaces(line, at+n+1)
	}
	at = skipWord(line, at, "address")
	marked := at < len(line) && (line[at] == ':' || line[at] == '=')
	for at < len(line) && strings.IndexByte(":=> ", line[at]) >= 0 {
		at++
	}
	if rest := line[at:]; strings.HasPrefix(rest, "- ") { // edk2: RIP  - FFFFFFFFC7CCD4A0
		at, marked = at+len("- "), true
	}
	at = skipSelector(line, at)
	if strings.HasPrefix(line[at:], "[<") { // Xen: RIP:    e008:[<ffff82d04023a355>]
		at += len("[<")
	}
	number, prefixed, next := hex(line, at)
	if number == "" || !marked && !prefixed && !loose && len(number) < 8 {
		return v, at, false
	}
	if !prefixed && len(number) > 2 && len(number) < 8 && strings.Trim(number, "abcdefABCDEF") == "" { // "Cause: Bad memory access"
		return v, at, false
	}
	v.Digits = len(number)
	v.Value, _ = strconv.ParseUint(number, 16, 64) // at most 16 digits
	v.After = line[next:skipSpaces(line, min(len(line), next+1))]
	return v, next, true
}

// maxRemark is how long in bytes a remark in brackets behind a name is: "CFSR (Configurable
// Fault Status): 0x82".
const maxRemark = 48

// skipSelector skips the segment in front of an address of x86: "RIP: 0033:0x47b7a0", "RSP: 0018:ffffcc80005cb930".
func skipSelector(line string, at int) int {
	number, prefixed, next := hex(line, at)
	if len(number) == 4 && !prefixed && next+1 < len(line) && line[next] == ':' && line[next+1] != ' ' {
		return next + 1
	}
	return at
}

func skipWord(line string, at int, word string) int {
	if len(line)-at > len(word) && strings.EqualFold(line[at:at+len(word)], word) {
		return skipSpaces(line, at+len(word))
	}
	return at
}

// row appends the values that follow the value of rN without names: those of rN+1 and on.
func row(dst []Value, line string, at int) ([]Value, int) {
	last := &dst[len(dst)-1]
	digits, numbered := strings.CutPrefix(last.Name, "r")
	if !numbered || last.Digits != 8 || strings.Trim(digits, "0123456789") != "" {
		return dst, at
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return dst, at
	}
	for n++; n < 16; n++ {
		number, prefixed, next := hex(line, skipSpaces(line, at))
		if len(number) != 8 || prefixed {
			break
		}
		v, _ := strconv.ParseUint(number, 16, 64)
		dst = append(dst, Value{Name: "r" + strconv.Itoa(n), Value: v, Digits: 8})
		at = next
	}
	return dst, at
}

// hex reads a hexadecimal number of up to 16 digits that is a whole word; "" if there is
// none.
func hex(line string, at int) (number string, prefixed bool, next int) {
	if at+2 < len(line) && line[at] == '0' && (line[at+1] == 'x' || line[at+1] == 'X') {
		prefixed, at = true, at+2
	}
	end := at
	for end < len(line) && phrases.IsHex(line[end]) {
		end++
	}
	for end-at > 16 && line[at] == '0' { // edk2, RISC-V, prints 17 digits
		at++
	}
	if end == at || end-at > 16 || end < len(line) && phrases.IsWord(line[end]) {
		return "", prefixed, at
	}
	return line[at:end], prefixed, end
}

func wordEnd[T string | []byte](line T, at int) int {
	for at < len(line) && phrases.IsWord(line[at]) {
		at++
	}
	return at
}

func skipSpaces[T string | []byte](line T, at int) int {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	return at
}
