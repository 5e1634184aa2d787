// Package kernels makes small Linux kernels for tests: tables of names as the kernel's
// build writes them, memory with page tables and tasks.
package kernels

import (
	"encoding/binary"
	"strings"
)

// Symbol is a name, nm's letter before it: "Tvfs_write".
type Symbol struct {
	Addr uint64
	Name string
}

// Layout says how the tables of names are laid out.
type Layout struct {
	Order binary.AppendByteOrder
	Word  int
	// Late: from Linux 6.4 on the addresses follow the tokens.
	Late bool
	// Absolute: addresses instead of offsets. PerCPU: offsets are negative, and count from
	// the base − 1. Otherwise they count from Base.
	Absolute, PerCPU bool
	Base             uint64
	// Sequences: kallsyms_seqs_of_names stand before the tokens, or at the end.
	Sequences bool
	// At is where the tables lie in a kernel of Linux 7, whose offsets count from where each of them lies.
	At uint64
}

// Kallsyms are the tables, for symbols in the order of their addresses.
func Kallsyms(symbols []Symbol, l Layout) []byte {
	t := table{Layout: l}
	if !l.Late {
		t.addresses(symbols)
	}
	t.word(uint64(len(symbols)))
	t.names(symbols)
	if l.Sequences && !l.Late {
		t.sequences(len(symbols))
	}
	t.tokens()
	if l.Late {
		t.addresses(symbols)
		t.sequences(len(symbols))
	}
	return t.out
}

type table struct {
	Layout
	out []byte
}

func (t *table) align() {
	for len(t.out)%t.Word != 0 {
		t.out = append(t.out, 0)
	}
}

// word appends four bytes, aligned as a word is.
func (t *table) word(v uint64) {
	t.align()
	t.out = t.Order.AppendUint32(t.out, uint32(v))
	t.align()
}

func (t *table) address(v uint64) {
	if t.Word == 8 {
		t.out = t.Order.AppendUint64(t.out, v)
	} else {
		t.out = t.Order.AppendUint32(t.out, uint32(v))
	}
}

func (t *table) addresses(symbols []Symbol) {
	if t.At == 0 {
		t.align()
	}
	for _, s := range symbols {
		switch {
		case t.At != 0:
			t.out = t.Order.AppendUint32(t.out, uint32(s.Addr-t.At-uint64(len(t.out))))
		case t.Absolute:
			t.address(s.Addr)
		case t.PerCPU && s.Addr>>31 != 0:
			t.out = t.Order.AppendUint32(t.out, uint32(t.Base-1-s.Addr))
		default:
			t.out = t.Order.AppendUint32(t.out, uint32(s.Addr-t.Base))
		}
	}
	t.align()
	if !t.Absolute && t.At == 0 {
		t.address(t.Base)
	}
}

// pair is a token of two letters, for a byte that no name has.
const pair = "_s"

func (t *table) names(symbols []Symbol) {
	t.align()
	start, marks := len(t.out), []int(nil)
	for i, s := range symbols {
		if i%256 == 0 {
			marks = append(marks, len(t.out)-start)
		}
		name := strings.ReplaceAll(s.Name, pair, "\x01")
		if len(name) >= 0x80 {
			t.out = append(t.out, byte(len(name)&0x7f|0x80), byte(len(name)>>7))
		} else {
			t.out = append(t.out, byte(len(name)))
		}
		t.out = append(t.out, name...)
	}
	t.align()
	for _, m := range marks {
		t.out = t.Order.AppendUint32(t.out, uint32(m))
	}
}

// sequences are three bytes for each symbol.
func (t *table) sequences(n int) {
	t.align()
	for i := range n {
		t.out = append(t.out, byte(i>>16), byte(i>>8), byte(i))
	}
}

func (t *table) tokens() {
	t.align()
	var index []int
	start := len(t.out)
	for c := range 256 {
		index = append(index, len(t.out)-start)
		switch {
		case c == 1:
			t.out = append(t.out, pair...)
		case c >= '0':
			t.out = append(t.out, byte(c))
		default:
			t.out = append(t.out, "unused"...)
		}
		t.out = append(t.out, 0)
	}
	t.align()
	for _, i := range index {
		t.out = t.Order.AppendUint16(t.out, uint16(i))
	}
}
