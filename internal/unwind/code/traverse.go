package code

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// traversal follows control flow through an image once, without states, and
// notes where calls go and which constants look like code pointers.
type traversal struct {
	an       *analysis
	todo     []stop
	seen     *marks
	calls    []uint64      // keys of direct call targets
	pointers []uint64      // keys of addresses taken
	jumps    []cpu.CallRef // direct jumps: the unconditional ones, and those that leave their function
	words    *marks        // literals in the text, nil if none
	left     int

	pending cpu.RegSet // registers that hold literals of which it is not known what they are
	consts  [cpu.MaxRegs]value
	globals [cpu.MaxRegs]value // of the registers in Arch.Globals, once one function computed them
	insns   [32]cpu.Insn
}

// stop is a place to go on from.
type stop struct {
	key   uint64
	entry bool // a function begins there
	// carried are constants in preserved registers at the jump that leads there.
	// MIPS16 code, which cannot address by gp, copies gp to s0 or s1 at its
	// beginning and reads the GOT through it in every block.
	carried [2]carried
}

// carried is a register and its constant; no register is no constant.
type carried struct {
	reg cpu.Reg
	off int64
}

func newTraversal(an *analysis) *traversal {
	w := &traversal{an: an, seen: newMarks(an), left: maxVisited}
	if an.hasGlobal {
		for r := an.arch.Globals; r != 0; r = r.Without(r.First()) {
			w.globals[r.First()] = constant(signed(an.global, an.arch))
		}
	}
	return w
}

func (w *traversal) push(addr uint64, mode cpu.Mode, entry bool) {
	if w.seen.has(addr, mode) {
		return
	}
	s := stop{key: key(addr, mode), entry: entry}
	for i := range s.carried {
		s.carried[i].reg = cpu.NoReg
	}
	if !entry {
		w.carry(&s)
	}
	w.todo = append(w.todo, s)
}

// carry hands constants on to the target of a jump.
func (w *traversal) carry(s *stop) {
	n := 0
	for p := w.an.arch.Preserved; p != 0 && n < len(s.carried); p = p.Without(p.First()) {
		if v := w.consts[p.First()]; v.kind == konst && v != w.globals[p.First()] {
			s.carried[n] = carried{p.First(), v.off}
			n++
		}
	}
}

// runPointers goes from every address of code that data holds: tables of functions,
// GOTs, init_array. Pointers of the second mode say so in
// bit 0. Those in the text count where they are not known to be literals by then.
func (w *traversal) runPointers() {
	for _, exec := range []bool{false, true} {
		for _, k := range w.an.pointerWords(exec, w.words) {
			a, mode := w.an.unkey(k)
			w.pointers = append(w.pointers, k)
			w.push(a, mode, true)
		}
		w.run()
	}
}

// pointer notes an address that is taken, if it is code.
func (w *traversal) pointer(v uint64) {
	if !w.an.pointsToCode(v) {
		return
	}
	a, mode := w.an.arch.SplitCode(v)
	w.pointers = append(w.pointers, key(a, mode))
	w.push(a, mode, true)
}

// plausible tells whether the code at an address that only data names looks like
// code of that mode: it decodes, is no text, and is not mostly conditional, as Thumb
// code is when it is read as A32.
func (an *analysis) plausible(pc uint64, mode cpu.Mode) bool {
	var buf [12]cpu.Insn
	code := an.img.Code(pc)
	if isText(code) {
		return false
	}
	n := an.arch.Decoder.Decode(code, pc, mode, buf[:])
	odd := 0
	for i := range n {
		in := &buf[i]
		if in.Op == cpu.OpUnknown || i == 0 && in.Op == cpu.OpTrap {
			return false
		}
		if in.Flags&cpu.FlagConditional != 0 && in.Op != cpu.OpJump {
			odd++
		}
		if in.Ends(an.arch.PC) {
			n = i + 1
			break
		}
	}
	return n > 0 && odd*3 <= n
}

// isText tells whether a string stands first. Old linkers put strings into the
// executable segment, and words of data point to them. The printable beginning of
// x86-64 functions that push all registers, AWAVAUATUSH, goes on with no zero byte.
func isText(code []byte) bool {
	const least, most = 8, 64
	for i, c := range code[:min(len(code), most)] {
		if c < ' ' || c > '~' {
			return c == 0 && i >= least
		}
	}
	return len(code) >= most
}

func (w *traversal) run() {
	for len(w.todo) > 0 && w.left > 0 {
		w.pending = 0
		s := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.consts = w.globals
		for _, k := range s.carried {
			if k.reg != cpu.NoReg {
				w.consts[k.reg] = constant(k.off)
			}
		}
		if s.entry {
			for r := w.an.arch.SelfRegs; r != 0; r = r.Without(r.First()) {
				w.consts[r.First()] = constant(signed(s.key, w.an.arch))
			}
		}
		w.follow(w.an.unkey(s.key))
		w.flush(w.pending)
	}
}

// follow walks straight on from pc until control never goes on or meets code
// that was seen.
func (w *traversal) follow(pc uint64, mode cpu.Mode) {
	arch := w.an.arch
	for {
		n := arch.Decoder.Decode(w.an.img.Code(pc), pc, mode, w.insns[:])
		if n == 0 {
			return
		}
		for i := range n {
			if w.left <= 0 || !w.seen.add(pc, mode) {
				return
			}
			w.left--
			in := &w.insns[i]
			if in.Op == cpu.OpUnknown && arch.ISABit {
				return // perhaps not code, or not of this mode
			}
			w.note(in)
			w.readsPC(in, pc)
			w.branch(in, pc)
			pc += uint64(in.Len)
			if in.Ends(arch.PC) {
				if in.Flags&cpu.FlagDelaySlot != 0 && i+1 < n {
					w.note(&w.insns[i+1])
				}
				return
			}
		}
	}
}

// branch notes where a transfer goes.
func (w *traversal) branch(in *cpu.Insn, pc uint64) {
	if in.Target == 0 || in.Flags&(cpu.FlagGetPC|cpu.FlagTable|cpu.FlagMemory) != 0 {
		return
	}
	switch in.Op {
	case cpu.OpCall:
		if w.an.img.Code(in.Target) != nil {
			w.calls = append(w.calls, key(in.Target, in.TargetMode))
			w.push(in.Target, in.TargetMode, true)
		}
	case cpu.OpJump:
		w.push(in.Target, in.TargetMode, false)
		if in.Flags&cpu.FlagConditional == 0 || w.farAway(pc, in.Target) {
			w.jumps = append(w.jumps, cpu.CallRef{Site: pc, Target: in.Target, TargetMode: in.TargetMode})
		}
	}
}

// note tracks constants, to see addresses that are built: lui and addiu, adrp and
// add, movw and movt, li and sll, literal loads.
func (w *traversal) note(in *cpu.Insn) {
	if w.pending != 0 {
		w.spend(in)
	}
	arch := w.an.arch
	var v value
	switch in.Op {
	case cpu.OpConst:
		v = constant(in.Imm)
	case cpu.OpInsert:
		v = insert(w.known(in.Dst), in)
	case cpu.OpMove:
		v = w.known(in.Src)
	case cpu.OpAddImm:
		v = w.known(in.Src)
		if v.kind == konst {
			v = constant(v.off + in.Imm)
		}
	case cpu.OpOrImm:
		v = w.known(in.Src)
		if v.kind == konst {
			v = constant(v.off | in.Imm)
		}
	case cpu.OpShlImm:
		v = w.known(in.Src)
		if v.kind == konst {
			v = constant(v.off << (uint64(in.Imm) & 63))
		}
	case cpu.OpLoad:
		if at := w.known(in.Base); in.Index == cpu.NoReg && int(in.Size) == arch.AddrSize {
			if in.Base == cpu.NoReg {
				at = constant(0)
			}
			if x, ok := w.an.img.Word(uint64(at.off+in.Imm) & arch.AddrMask()); ok && at.kind == konst {
				v = constant(signed(x, arch))
			}
		}
	case cpu.OpAdd:
		a, b := w.known(in.Src), w.known(in.Src2)
		if a.kind == konst && b.kind == konst {
			v = constant(a.off + b.off<<in.Scale)
		}
	case cpu.OpCall:
		for r := range w.consts {
			if !arch.Preserved.Has(cpu.Reg(r)) {
				w.consts[r] = w.globals[r]
			}
		}
		return
	case cpu.OpClobber, cpu.OpUnknown, cpu.OpSyscall, cpu.OpLoadMulti:
		for s := in.List; s != 0; s = s.Without(s.First()) {
			w.consts[s.First()] = value{}
		}
		return
	}
	if in.Dst < cpu.MaxRegs {
		w.consts[in.Dst] = v
		if arch.Globals.Has(in.Dst) {
			if v.kind != konst {
				w.consts[in.Dst] = w.globals[in.Dst] // restored from the stack
			} else if in.Op != cpu.OpConst && !w.an.hasGlobal {
				w.globals[in.Dst] = v
			}
			return
		}
		switch {
		case v.kind != konst || in.Op == cpu.OpMove || v.off == 0:
		case isLiteral(in):
			w.literal(in)
		default:
			w.pointer(uint64(v.off) & arch.AddrMask())
		}
	}
	if in.Dst2 < cpu.MaxRegs {
		w.consts[in.Dst2] = value{}
	}
}

// readsPC notes what i386's way to read the PC leaves, on which position-independent
// code builds all addresses: call __x86.get_pc_thunk.bx; add $GOT,%ebx; lea f@GOTOFF(%ebx).
func (w *traversal) readsPC(in *cpu.Insn, pc uint64) {
	if in.Op != cpu.OpCall || w.an.arch.LR != cpu.NoReg || w.an.arch.AddrSize != 4 || in.Target == 0 {
		return
	}
	m := machine{img: w.an.img, arch: w.an.arch}
	if r, ok := readsPC(m.img, jump{in.Target, in.TargetMode}); ok && r < cpu.MaxRegs {
		w.consts[r] = constant(signed(pc+uint64(in.Len), w.an.arch))
	}
}

func (w *traversal) known(r cpu.Reg) value {
	if r >= cpu.MaxRegs {
		return value{}
	}
	return w.consts[r]
}

// tailTargets are the targets of jumps that leave the function they stand in, as
// far as known entries bound it: functions that are only ever tail-called, and
// parts of functions moved elsewhere (.text.unlikely), which a derivation from
// there shows to be unbalanced.
func (w *traversal) tailTargets() (keys []uint64) {
	for _, j := range w.jumps {
		lo, hi := min(j.Site, j.Target), max(j.Site, j.Target)
		i, _ := slices.BinarySearch(w.an.weak, key(lo+1, 1))
		if w.an.nextEntry(lo, j.Target) <= hi || i < len(w.an.weak) && w.an.weak[i] <= hi {
			keys = append(keys, key(j.Target, j.TargetMode))
		}
	}
	return keys
}

// farAway tells whether a strong entry lies between two places.
func (w *traversal) farAway(a, b uint64) bool {
	lo, hi := min(a, b), max(a, b)
	return hi-lo > 64 && w.an.strong != nil && w.an.nextEntry(lo, b) <= hi
}

// crossings are the jumps over a strong entry, sorted by target.
func (w *traversal) crossings() []cpu.CallRef {
	out := slices.DeleteFunc(w.jumps, func(j cpu.CallRef) bool { return !w.farAway(j.Site, j.Target) })
	slices.SortFunc(out, func(a, b cpu.CallRef) int { return cmp.Compare(a.Target, b.Target) })
	return slices.Clip(out)
}

// crossingsBelow lists the nearest jumps from elsewhere to places at or below addr.
func (an *analysis) crossingsBelow(addr uint64) []cpu.CallRef {
	an.weakEntries()
	i, _ := slices.BinarySearchFunc(an.crossings, addr+1, func(j cpu.CallRef, a uint64) int { return cmp.Compare(j.Target, a) })
	return lastFirst(an.crossings[max(0, i-nearPointers):i])
}

func lastFirst(refs []cpu.CallRef) []cpu.CallRef {
	refs = slices.Clone(refs)
	slices.Reverse(refs)
	return refs
}
