package faultlog

import (
	"strings"

	"github.com/backsight/backsight/internal/input/regtext"
)

// registerRows are the registers of QNX's kernel dump, rows of words without names, in the order of struct cpu_registers
// (sys/target/CPU/context.h):
//
//	armle context[fe065368]:
//	0000: 00000000 0000004c 1b4c9044 1b4c8f88 …
//	instruction[1b4c65f4]:
//	f8 29 00 00 6e 2a
//	stack[5a07cdc8]:
//	0000:>1b4c900c 00000001 5a07cde4 5a07cdec …
type registerRows struct {
	names []string // of the words that follow
	stack uint64   // where its rows are counted from; 0: none
}

// contexts are the orders, by the word in front of "context".
var contexts = []struct{ cpu, names string }{
	{"armle", "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc cpsr"},
	{"armle-v7", "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc cpsr"},
	{"aarch64le", "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 sp pc"},
	{"x86", "edi esi ebp - ebx edx ecx eax eip - eflags esp"},
	{"x86_64", "rdi rsi rdx r10 r8 r9 rax rbx rbp rcx r11 r12 r13 r14 r15 rip - eflags rsp"},
}

// takeContext takes a line of such a dump.
func (w *words) takeContext(line string) bool {
	c := &w.qnx
	if cpu, rest, ok := strings.Cut(line, " context["); ok && strings.HasSuffix(strings.TrimSpace(rest), "]:") {
		for _, known := range contexts {
			if known.cpu == strings.TrimSpace(cpu) {
				c.names = strings.Fields(known.names)
				return true
			}
		}
	}
	if _, at, ok := strings.Cut(line, "stack["); ok && w.form.os == "QNX" {
		at, _, _ = strings.Cut(at, "]")
		c.stack, ok = firstHex(at)
		c.names = nil
		return ok
	}
	offset, row, ok := strings.Cut(line, ":")
	at, number := firstHex(offset)
	if !ok || !number || len(offset) != 4 || len(c.names) == 0 && c.stack == 0 {
		return false
	}
	var values []uint64
	size := 0
	for word := range strings.FieldsSeq(strings.TrimLeft(row, ">")) {
		v, hex := firstHex(word)
		if !hex || len(word) != 8 && len(word) != 16 {
			return false
		}
		values, size = append(values, v), len(word)/2
	}
	if len(c.names) == 0 {
		w.rows = append(w.rows, regtext.Row{Addr: c.stack + at, Words: values, Size: size})
		return true
	}
	for _, v := range values[:min(len(values), len(c.names))] {
		if c.names[0] != "-" {
			w.vals = append(w.vals, regtext.Value{Name: c.names[0], Value: v, Digits: 2 * size})
		}
		c.names = c.names[1:]
	}
	return true
}
