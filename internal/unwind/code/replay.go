package code

import "github.com/backsight/backsight/cpu"

// stateAt replays the function up to the instruction at pc.
func (f *function) stateAt(pc uint64, mode cpu.Mode, st *state) bool {
	b, _ := f.at(pc)
	if b == nil || b.mode != mode {
		return false
	}
	st.copyFrom(&b.in)
	var buf [16]cpu.Insn
	for at := b.start; at < b.end; {
		n := f.decode(at, mode, buf[:])
		if n == 0 {
			return false
		}
		for i := range n {
			if at == pc {
				return true
			}
			if at > pc || at >= b.end {
				return false
			}
			if f.transfers(&buf[i]) {
				if at+uint64(buf[i].Len) == pc && buf[i].Flags&cpu.FlagDelaySlot != 0 {
					if buf[i].Op == cpu.OpCall {
						st.set(buf[i].Dst, value{}, f.arch) // the link is written before the slot runs
					}
					return true // in a delay slot: the branch itself changed nothing else
				}
				return false
			}
			f.exec(st, &buf[i], at)
			at += uint64(buf[i].Len)
		}
	}
	return false
}

// stateAfterCall replays the function up to the return of the call at site.
func (f *function) stateAfterCall(site uint64, mode cpu.Mode, st *state) bool {
	if !f.stateAt(site, mode, st) {
		return false
	}
	var buf [2]cpu.Insn
	n := f.arch.Decoder.Decode(f.img.Code(site), site, mode, buf[:])
	if n == 0 || buf[0].Op != cpu.OpCall && !f.transfers(&buf[0]) {
		return false
	}
	if buf[0].Flags&cpu.FlagDelaySlot != 0 && n == 2 {
		f.exec(st, &buf[1], site+uint64(buf[0].Len))
	}
	f.exec(st, &buf[0], site)
	if r, ok := f.thunk(&buf[0]); ok {
		st.set(r, value{}, f.arch) // perhaps written when it was interrupted
	}
	return true
}
