package heights

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// probes goes on behind a loop of stack probes (disasm.Probes), where SP is as low as a register says that the code in
// front of the loop has set: the lowest of those that point into the stack. Within the loop nothing is known.
func (p *pass) probes(b *block, jump *cpu.Insn, at uint32) bool {
	pc := p.extent.entry + uint64(at)
	by, ok := disasm.Probes(p.tables.code, jump, pc)
	if !ok || b.taken <= b.start {
		return false
	}
	moved, limit, ok := p.limit(p.extent.at(b.start), p.extent.at(b.taken).PC)
	if !ok || limit >= moved || (moved-limit)%by != 0 {
		return false
	}
	r := &p.record
	unknown := state{pointers: cpu.SetOf(r.sp)}
	unknown.height[r.sp] = r.cur.height[r.sp]
	next := r.cur
	next.height[r.sp] += int32(limit - moved + by)
	r.replace(&unknown)
	r.begin(b.taken)
	for i := range r.rows {
		if in := &r.rows[i]; in.At >= b.taken && in.At <= at {
			in.Heights = r.last
		}
	}
	r.replace(&next)
	return true
}

// limit executes a line of instructions, and tells where SP is behind them and the lowest other place of the stack that a
// register points to, both relative to SP before; false where no register does, or the line does more.
func (p *pass) limit(from disasm.Addr, to uint64) (sp, limit int64, ok bool) {
	arch := p.interp.arch
	places := map[cpu.Reg]int64{arch.SP: 0}
	for from.PC < to {
		var buf [1]cpu.Insn
		in := &buf[0]
		if !p.tables.code.One(from, in) || in.Ends(arch.PC) {
			return 0, 0, false
		}
		at, known := places[in.Src]
		for r := range places {
			if in.Writes(r) && r != arch.SP {
				delete(places, r)
			}
		}
		switch {
		case known && in.Op == cpu.OpMove:
			places[in.Dst] = at
		case known && in.Op == cpu.OpAddImm:
			places[in.Dst] = at + in.Imm
		case in.Op == cpu.OpStore && in.Base == arch.SP:
			places[arch.SP] += int64(in.WB)
		case in.Writes(arch.SP):
			return 0, 0, false
		}
		from.PC += uint64(in.Len)
	}
	sp = places[arch.SP]
	limit = sp
	for _, at := range places {
		limit = min(limit, at)
	}
	return sp, limit, true
}
