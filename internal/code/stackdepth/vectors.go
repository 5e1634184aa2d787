package stackdepth

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
)

// vectors are the handlers of a microcontroller's interrupts and exceptions.
type vectors struct {
	handlers []handler
	// reset is a pointer to the code that runs first, 0 where no table tells; sp is the stack pointer then.
	reset, sp uint64
	// pushes is what the processor pushes when an interrupt comes. banked: tasks have a stack pointer of their own.
	pushes int64
	banked bool
	float  bool
	// nest: a handler may interrupt another one of lower priority.
	nest bool
}

// handler is a handler, and the number of its exception.
type handler struct {
	at     disasm.Addr
	number int
}

func (v *vectors) has(at disasm.Addr) bool {
	return slices.ContainsFunc(v.handlers, func(h handler) bool { return h.at == at })
}

// begins tells whether the program begins at a place: whoever goes there begins a new stack.
func (v *vectors) begins(code *analyses.Image, at disasm.Addr) bool {
	first, ok := code.Pointer(v.reset)
	return ok && v.reset != 0 && first == at || code.Entries.StartsImage(at)
}

// findVectors finds the handlers.
func findVectors(code *analyses.Image) *vectors {
	v := &vectors{}
	switch {
	case code.Arch.Micro():
		v.cortexM(code)
	case code.Arch.Name == "riscv32" || code.Arch.Name == "riscv64":
		v.riscv(code)
	}
	return v
}

// Exceptions of a Cortex-M before its interrupts, and interrupts at most (ARMv7-M Architecture Reference Manual, B1.5.2 and B3.4).
const (
	exceptions    = 16
	maxInterrupts = 480
)

// What exception entry pushes, without and with the registers of the FPU, and the word that aligns the stack (ARMv7-M, B1.5.6, B1.5.7).
const (
	basicFrame    = 32
	extendedFrame = 104
	alignment     = 4
)

// cortexM finds the vector table: where a section says, else at the beginning of a segment.
func (v *vectors) cortexM(code *analyses.Image) {
	v.nest = true
	var places []uint64
	for _, name := range []string{".isr_vector", ".vectors", ".vector_table", ".intvecs", "rom_start"} {
		if s, ok := code.Img.Sections.Loaded(name); ok {
			places = append(places, s.Addr)
		}
	}
	for i := range code.Img.Segments {
		places = append(places, code.Img.Segments[i].Addr)
	}
	for _, at := range places {
		if v.table(code, at) {
			break
		}
	}
	v.looked(code)
	if v.pushes = basicFrame + alignment; v.float {
		v.pushes = extendedFrame + alignment
	}
}

// table reads the vector table at a place; false where none stands there: the first word is the stack pointer, and the second one
// leads to the program's entry or, where nothing names that, to code.
func (v *vectors) table(code *analyses.Image, at uint64) bool {
	sp, ok := code.Img.Word(at)
	reset, second := code.Img.Word(at + 4)
	entry, isCode := code.Pointer(reset)
	if !ok || !second || !isCode || reset&1 == 0 || sp == 0 || sp&3 != 0 || code.Has(sp) {
		return false
	}
	if first, ok := code.Pointer(code.Img.Entry); ok && code.Img.Entry != 0 && first != entry && !v.plausible(code, at) {
		return false
	}
	v.reset, v.sp = reset, sp
	for n := uint64(2); n < exceptions+maxInterrupts; n++ {
		w, ok := code.Img.Word(at + 4*n)
		to, isCode := code.Pointer(w)
		if !ok || w != 0 && (w&1 == 0 || !isCode) && n >= exceptions {
			break
		}
		if h := (handler{to, int(n)}); w&1 != 0 && isCode && to != entry && !v.has(to) {
			v.handlers = append(v.handlers, h)
		}
	}
	return true
}

// plausible tells whether the words of the first exceptions are all zero or pointers to code.
func (v *vectors) plausible(code *analyses.Image, at uint64) bool {
	for n := uint64(1); n < exceptions; n++ {
		w, ok := code.Img.Word(at + 4*n)
		if _, isCode := code.Pointer(w); !ok || w != 0 && (w&1 == 0 || !isCode) {
			return false
		}
	}
	return true
}

// looked looks through the code for what tells how exceptions enter: an instruction of the FPU, which is one of the coprocessors 10 and 11
// (ARMv7-M, A6), and a write of PSP, the stack pointer of tasks (MSR, B5.2.3).
func (v *vectors) looked(code *analyses.Image) {
	for _, key := range code.Entries.Certain() {
		at := code.Addr(key)
		disasm.Each(code.Code, at, code.Entries.Next(at.PC, at.PC), func(at disasm.Addr, in *cpu.Insn) bool {
			if b := code.Img.Segments.Code(at.PC); in.Len == 4 && len(b) >= 4 {
				first, second := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
				v.float = v.float || first&0xec00 == 0xec00 && second>>9&7 == 5
				v.banked = v.banked || first&0xfff0 == 0xf380 && second&0xff == 9
			}
			return !v.float || !v.banked
		})
	}
}

// riscv finds the handlers that code writes to mtvec or stvec: csrw of those registers (RISC-V Privileged Architecture, 3.1.7). Low bits are the mode.
func (v *vectors) riscv(code *analyses.Image) {
	const csrrw, mtvec, stvec = 0x1073, 0x305, 0x105
	for _, key := range code.Entries.Certain() {
		entry := code.Addr(key)
		disasm.Each(code.Code, entry, code.Entries.Next(entry.PC, entry.PC), func(at disasm.Addr, in *cpu.Insn) bool {
			b := code.Img.Segments.Code(at.PC)
			if in.Len != 4 || len(b) < 4 {
				return true
			}
			w := binary.LittleEndian.Uint32(b)
			if csr := w >> 20; w&0x707f == csrrw && (csr == mtvec || csr == stvec) {
				v.written(code, entry, at, w>>15&31)
			}
			return true
		})
	}
}

// written notes the handler that a register holds at a place. Registers are numbered as instructions have them.
func (v *vectors) written(code *analyses.Image, entry, at disasm.Addr, number uint32) {
	f := code.Flows.Function(entry)
	var st absint.State
	r, ok := code.Arch.RegByDWARF(uint64(number))
	if !ok || !f.StateAt(at, &st) {
		return
	}
	x := st.Get(r)
	if x.Kind != absint.Constant {
		return
	}
	if to, ok := code.Pointer(uint64(x.Off) & code.Arch.AddrMask() &^ 3); ok && !v.has(to) {
		v.handlers = append(v.handlers, handler{at: to})
	}
}

// switched is what is left on a task's stack that is not running: what the processor pushed, and the registers that the
// kernel's switch saves below: r4 to r11 and LR, and of the FPU s16 to s31.
func (v *vectors) switched() int64 {
	switch {
	case !v.banked || len(v.handlers) == 0:
		return 0
	case v.float:
		return v.pushes + 36 + 64
	}
	return v.pushes + 36
}

// stack is the size of the main stack and what tells it: symbols around the stack pointer that the reset begins with.
func (v *vectors) stack(code *analyses.Image) (size uint64, from string) {
	if v.sp == 0 {
		return 0, ""
	}
	for _, name := range []string{"__StackLimit", "__stack_limit", "_sstack", "__stack_start__", "__main_stack_base__", "_stack_bottom", "z_main_stack"} {
		if s, ok := code.Img.Symbols.Named(name); ok && s.Addr < v.sp && v.sp-s.Addr < 1<<24 {
			return v.sp - s.Addr, name
		}
	}
	for _, name := range []string{"_end", "end", "__bss_end__", "_ebss", "__end__"} {
		if s, ok := code.Img.Symbols.Named(name); ok && s.Addr < v.sp && v.sp-s.Addr < 1<<24 {
			return v.sp - s.Addr, "above " + name
		}
	}
	return 0, ""
}

// on are the handlers that may run on a root's stack at a time. On a stack of its own a task finds nothing but what its extra
// counts. Where priorities are not known, each handler may interrupt each other one once; of those with one priority only the deepest
// counts. A processor whose handlers do not nest has the deepest one.
func (v *vectors) on(g *graph, x *root) (list []Interrupt) {
	if x.banked {
		return nil
	}
	for i := range v.handlers {
		k, ok := g.at(v.handlers[i].at)
		if !ok {
			continue
		}
		n := &g.nodes[k]
		in := Interrupt{Name: n.name, At: n.use.Entry.PC, Bytes: n.depth + v.pushes, Priority: -1}
		if p, ok := of(g.notes.priorities, n.name, n.use.Entry.PC); ok {
			in.Priority = p
		}
		list = append(list, in)
	}
	slices.SortStableFunc(list, func(a, b Interrupt) int { return cmp.Compare(b.Bytes, a.Bytes) })
	if !v.nest && len(list) > 1 {
		return list[:1]
	}
	levels := map[int64]bool{}
	return slices.DeleteFunc(list, func(in Interrupt) bool {
		met := levels[in.Priority]
		levels[in.Priority] = in.Priority >= 0
		return met
	})
}
