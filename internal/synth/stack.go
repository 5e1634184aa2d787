// Package synth makes captures for tests: stacks and sections written with
// labels, and programs out of a few instructions. Only tests import it.
//
//	stack := synth.Stack(arch).
//		Label("frame").Word(1).Ref("record", 0).
//		Label("record").Words(0, ra).
//		Place(0x7fff_0000)
//	stack.Addr("record") // 0x7fff_0010 on a 64-bit CPU
package synth

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// Assembler collects bytes, labels and references to labels. Mistakes of the
// test's author, such as an unknown label, panic.
type Assembler struct {
	arch   *cpu.Arch
	data   []byte
	labels map[string]int
	refs   []ref
}

// ref is an address to fill in once the place of the labels is known.
type ref struct {
	at, size int
	label    string
	plus     int64
}

// Placed is what an Assembler collected, at an address.
type Placed struct {
	Base   uint64
	Data   []byte
	labels map[string]int
}

// Stack begins a stack of arch's words, growing to higher addresses: the
// innermost frame comes first.
func Stack(arch *cpu.Arch) *Assembler {
	return &Assembler{arch: arch, labels: map[string]int{}}
}

// Label names the address of what follows.
func (a *Assembler) Label(name string) *Assembler {
	if _, ok := a.labels[name]; ok {
		panic("synth: label " + name + " defined twice")
	}
	a.labels[name] = len(a.data)
	return a
}

// Word appends v in the size of a register's save slot.
func (a *Assembler) Word(v uint64) *Assembler { return a.Uint(v, a.arch.RegSize) }

// Words appends several words.
func (a *Assembler) Words(vs ...uint64) *Assembler {
	for _, v := range vs {
		a.Word(v)
	}
	return a
}

// Uint appends v in size bytes.
func (a *Assembler) Uint(v uint64, size int) *Assembler {
	a.data = append(a.data, make([]byte, size)...)
	a.put(len(a.data)-size, size, v)
	return a
}

// Ref appends the address of a label, which may come later, plus a constant.
func (a *Assembler) Ref(label string, plus int64) *Assembler {
	a.refs = append(a.refs, ref{len(a.data), a.arch.RegSize, label, plus})
	return a.Word(0)
}

// Zero appends n zero bytes.
func (a *Assembler) Zero(n int) *Assembler {
	a.data = append(a.data, make([]byte, n)...)
	return a
}

// Registers appends a carrier's block with the known registers in their slots.
func (a *Assembler) Registers(l cpu.Layout, regs *cpu.Registers) *Assembler {
	at := len(a.data)
	a.Zero(l.Size)
	for _, s := range l.Slots {
		if v, ok := regs.Lookup(s.Reg); ok {
			a.put(at+s.Offset, s.Size, v)
		}
	}
	return a
}

func (a *Assembler) put(at, size int, v uint64) {
	for i := range size {
		k := i
		if a.arch.BigEndian {
			k = size - 1 - i
		}
		a.data[at+k] = byte(v >> (8 * i))
	}
}

// Place fixes the addresses: the first byte lies at base.
func (a *Assembler) Place(base uint64) Placed {
	for _, r := range a.refs {
		at, ok := a.labels[r.label]
		if !ok {
			panic("synth: no label " + r.label)
		}
		a.put(r.at, r.size, base+uint64(at)+uint64(r.plus))
	}
	return Placed{Base: base, Data: a.data, labels: a.labels}
}

// Addr is the address of a label.
func (p *Placed) Addr(label string) uint64 {
	at, ok := p.labels[label]
	if !ok {
		panic(fmt.Sprintf("synth: no label %s at %#x", label, p.Base))
	}
	return p.Base + uint64(at)
}
