package heights

import (
	"math/bits"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// follow visits instructions from an offset to where control does not go on, or comes to
// what was visited. It reports false where the function has no table.
func (p *pass) follow(at uint32) bool {
	if p.seen.Has(at) {
		return p.record.agrees(at)
	}
	b := block{start: at, next: disasm.None, taken: disasm.None}
	if p.inGaps {
		b.flags = isTarget
	}
	arch := p.interp.arch
	p.record.begin(at)
	p.cursor.Seek(p.extent.at(at))
	for p.stop = p.ahead(at + 1); ; {
		p.record.number()
		if at >= p.stop {
			if ends, ok := p.look(&b, at); ends || !ok {
				return ok
			}
		}
		if p.record.last != p.record.rowed { // not before the look: another path's row may stand here
			p.record.put(at)
		}
		var in, slot *cpu.Insn
		var after uint32
		switch in, slot, at, after = p.fetch(at); {
		case at >= p.stop:
			continue
		case in == nil:
			return false
		case disasm.Transfers(in, arch):
			if goesOn, ok := p.transfer(&b, in, slot, at, after); !goesOn || !ok {
				return ok
			}
		default:
			if !p.record.step(&p.interp, in) {
				return false
			}
		}
		at = after
	}
}

// fetch goes behind idle instructions, which most are, up to an offset that needs a look, or else reads the next
// instruction and what stands in its delay slot: from is its offset, after is behind both. in is nil where there is no
// code, or too much.
func (p *pass) fetch(at uint32) (in, slot *cpu.Insn, from, after uint32) {
	w := p.record.watching(&p.interp)
	for at < p.stop {
		starts, n, in := p.cursor.Skip(p.extent.entry+uint64(at), p.stop-at, w)
		if in != nil && in.Op != cpu.OpUnknown {
			starts |= 1 << n
		}
		if p.insns += bits.OnesCount64(starts); starts == 0 || p.insns > maxInsns {
			return nil, nil, at, 0
		}
		p.seen.AddAll(at, starts)
		switch at += n; {
		case in == nil:
		case in.Op == cpu.OpUnknown:
			return nil, nil, at, 0
		case !disasm.IsLiteral(in) || !p.literal(in, w):
			return p.withSlot(in, at)
		default:
			at += uint32(in.Len)
		}
	}
	return nil, nil, at, 0
}

// withSlot completes what fetch has read.
func (p *pass) withSlot(in *cpu.Insn, at uint32) (_, slot *cpu.Insn, from, after uint32) {
	if in.Flags&cpu.FlagDelaySlot == 0 {
		return in, nil, at, at + uint32(in.Len)
	}
	step := p.cursor.Step(in, p.extent.entry+uint64(at))
	if step.Cut {
		return nil, nil, at, 0
	}
	if step.Slot != nil {
		p.seen.Add(at + uint32(step.In.Len))
	}
	return step.In, step.Slot, at, uint32(step.Next - p.extent.entry)
}

// literal notes a word of the function that an instruction loads: control never comes there. idle: the load is.
func (p *pass) literal(in *cpu.Insn, w *stepping.Watch) (idle bool) {
	if at := uint64(in.Imm) - p.extent.entry; at < p.extent.last()-p.extent.entry {
		p.data.AddRange(uint32(at), uint32(at)+uint32(in.Size))
	}
	return in.WB == 0 && !w.Held.Has(in.Dst) && !w.Held.Has(in.Dst2)
}

// look ends a block at a place that was visited, to which another path comes, or where
// the function ends. ends: control does not go on from there.
func (p *pass) look(b *block, at uint32) (ends, ok bool) {
	i, found := p.todo.find(at)
	switch {
	case p.seen.Has(at):
		b.next = at
		p.graph.add(b, at)
		return true, p.record.agrees(at)
	case p.extent.ends(p.extent.entry + uint64(at)):
		p.graph.add(b, at)
		return true, true
	case found:
		b.next = at
		p.graph.add(b, at)
		ok = p.join(i)
	default:
		ok = true
	}
	p.stop = p.ahead(at + 1)
	return false, ok
}

// ahead is the next offset from at on that needs a look.
func (p *pass) ahead(at uint32) uint32 {
	stop := min(p.seen.Next(at), p.extent.next(at))
	return max(p.todo.next(at, stop), at)
}

// join makes the state at hand what holds on all paths to a place in the list.
func (p *pass) join(i int) bool {
	r, w := &p.record, p.todo[i]
	p.todo = slices.Delete(p.todo, i, i+1)
	ok := true
	if w.state != r.last || r.changed {
		ok = r.meet(&r.states[w.state])
	}
	r.begin(w.at)
	return ok
}

// edge brings the state at hand to a place of the function.
func (p *pass) edge(at uint32) bool {
	if p.seen.Has(at) {
		return p.record.agrees(at)
	}
	r := &p.record
	r.number()
	i, found := p.todo.find(at)
	if !found {
		p.stop = min(p.stop, at)
		p.todo = slices.Insert(p.todo, i, waypoint{at, r.last})
		return true
	}
	both, ok := r.join(p.todo[i].state)
	p.todo[i].state = both
	return ok
}
